#pragma once

#include <complex>
#include <cstddef>

// The routines of LAPACK and BLAS that are called, as their Fortran symbols (LAPACK Users' Guide, third edition, 1999).

extern "C" {
using lapack_c = std::complex<float>;
using lapack_z = std::complex<double>;

void spotrf_(const char*, const int*, float*, const int*, int*, std::size_t);
void dpotrf_(const char*, const int*, double*, const int*, int*, std::size_t);
void cpotrf_(const char*, const int*, lapack_c*, const int*, int*, std::size_t);
void zpotrf_(const char*, const int*, lapack_z*, const int*, int*, std::size_t);

void sgetrf_(const int*, const int*, float*, const int*, int*, int*);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void cgetrf_(const int*, const int*, lapack_c*, const int*, int*, int*);
void zgetrf_(const int*, const int*, lapack_z*, const int*, int*, int*);

void sgetrs_(const char*, const int*, const int*, const float*, const int*, const int*, float*, const int*, int*,
             std::size_t);
void dgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, double*, const int*, int*,
             std::size_t);
void cgetrs_(const char*, const int*, const int*, const lapack_c*, const int*, const int*, lapack_c*, const int*, int*,
             std::size_t);
void zgetrs_(const char*, const int*, const int*, const lapack_z*, const int*, const int*, lapack_z*, const int*, int*,
             std::size_t);

void sgetri_(const int*, float*, const int*, const int*, float*, const int*, int*);
void dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
void cgetri_(const int*, lapack_c*, const int*, const int*, lapack_c*, const int*, int*);
void zgetri_(const int*, lapack_z*, const int*, const int*, lapack_z*, const int*, int*);

void sgeqrf_(const int*, const int*, float*, const int*, float*, float*, const int*, int*);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void cgeqrf_(const int*, const int*, lapack_c*, const int*, lapack_c*, lapack_c*, const int*, int*);
void zgeqrf_(const int*, const int*, lapack_z*, const int*, lapack_z*, lapack_z*, const int*, int*);

void sorgqr_(const int*, const int*, const int*, float*, const int*, const float*, float*, const int*, int*);
void dorgqr_(const int*, const int*, const int*, double*, const int*, const double*, double*, const int*, int*);
void cungqr_(const int*, const int*, const int*, lapack_c*, const int*, const lapack_c*, lapack_c*, const int*, int*);
void zungqr_(const int*, const int*, const int*, lapack_z*, const int*, const lapack_z*, lapack_z*, const int*, int*);

void ssyevd_(const char*, const char*, const int*, float*, const int*, float*, float*, const int*, int*, const int*,
             int*, std::size_t, std::size_t);
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*, const int*,
             int*, std::size_t, std::size_t);
void cheevd_(const char*, const char*, const int*, lapack_c*, const int*, float*, lapack_c*, const int*, float*,
             const int*, int*, const int*, int*, std::size_t, std::size_t);
void zheevd_(const char*, const char*, const int*, lapack_z*, const int*, double*, lapack_z*, const int*, double*,
             const int*, int*, const int*, int*, std::size_t, std::size_t);

void sgeev_(const char*, const char*, const int*, float*, const int*, float*, float*, float*, const int*, float*,
            const int*, float*, const int*, int*, std::size_t, std::size_t);
void dgeev_(const char*, const char*, const int*, double*, const int*, double*, double*, double*, const int*, double*,
            const int*, double*, const int*, int*, std::size_t, std::size_t);
void cgeev_(const char*, const char*, const int*, lapack_c*, const int*, lapack_c*, lapack_c*, const int*, lapack_c*,
            const int*, lapack_c*, const int*, float*, int*, std::size_t, std::size_t);
void zgeev_(const char*, const char*, const int*, lapack_z*, const int*, lapack_z*, lapack_z*, const int*, lapack_z*,
            const int*, lapack_z*, const int*, double*, int*, std::size_t, std::size_t);

void sgesdd_(const char*, const int*, const int*, float*, const int*, float*, float*, const int*, float*, const int*,
             float*, const int*, int*, int*, std::size_t);
void dgesdd_(const char*, const int*, const int*, double*, const int*, double*, double*, const int*, double*,
             const int*, double*, const int*, int*, int*, std::size_t);
void cgesdd_(const char*, const int*, const int*, lapack_c*, const int*, float*, lapack_c*, const int*, lapack_c*,
             const int*, lapack_c*, const int*, float*, int*, int*, std::size_t);
void zgesdd_(const char*, const int*, const int*, lapack_z*, const int*, double*, lapack_z*, const int*, lapack_z*,
             const int*, lapack_z*, const int*, double*, int*, int*, std::size_t);

void strsm_(const char*, const char*, const char*, const char*, const int*, const int*, const float*, const float*,
            const int*, float*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
void ctrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const lapack_c*,
            const lapack_c*, const int*, lapack_c*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
void ztrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const lapack_z*,
            const lapack_z*, const int*, lapack_z*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);

void ssytrd_(const char*, const int*, float*, const int*, float*, float*, float*, float*, const int*, int*,
             std::size_t);
void dsytrd_(const char*, const int*, double*, const int*, double*, double*, double*, double*, const int*, int*,
             std::size_t);
void sstedc_(const char*, const int*, float*, float*, float*, const int*, float*, const int*, int*, const int*, int*,
             std::size_t);
void dstedc_(const char*, const int*, double*, double*, double*, const int*, double*, const int*, int*, const int*,
             int*, std::size_t);

int openblas_get_parallel(void);
void openblas_set_num_threads(int);
}

namespace lamella::linalg {

/// The routines for an element type, by the names that they have in common.
template <class T>
struct Routines;
template <>
struct Routines<float> {
  using Real = float;
  static constexpr auto potrf = spotrf_;
  static constexpr auto getrf = sgetrf_;
  static constexpr auto getrs = sgetrs_;
  static constexpr auto getri = sgetri_;
  static constexpr auto geqrf = sgeqrf_;
  static constexpr auto ungqr = sorgqr_;
  static constexpr auto heevd = ssyevd_;
  static constexpr auto geev = sgeev_;
  static constexpr auto gesdd = sgesdd_;
  static constexpr auto trsm = strsm_;
};
template <>
struct Routines<double> {
  using Real = double;
  static constexpr auto potrf = dpotrf_;
  static constexpr auto getrf = dgetrf_;
  static constexpr auto getrs = dgetrs_;
  static constexpr auto getri = dgetri_;
  static constexpr auto geqrf = dgeqrf_;
  static constexpr auto ungqr = dorgqr_;
  static constexpr auto heevd = dsyevd_;
  static constexpr auto geev = dgeev_;
  static constexpr auto gesdd = dgesdd_;
  static constexpr auto trsm = dtrsm_;
};
template <>
struct Routines<std::complex<float>> {
  using Real = float;
  static constexpr auto potrf = cpotrf_;
  static constexpr auto getrf = cgetrf_;
  static constexpr auto getrs = cgetrs_;
  static constexpr auto getri = cgetri_;
  static constexpr auto geqrf = cgeqrf_;
  static constexpr auto ungqr = cungqr_;
  static constexpr auto heevd = cheevd_;
  static constexpr auto geev = cgeev_;
  static constexpr auto gesdd = cgesdd_;
  static constexpr auto trsm = ctrsm_;
};
template <>
struct Routines<std::complex<double>> {
  using Real = double;
  static constexpr auto potrf = zpotrf_;
  static constexpr auto getrf = zgetrf_;
  static constexpr auto getrs = zgetrs_;
  static constexpr auto getri = zgetri_;
  static constexpr auto geqrf = zgeqrf_;
  static constexpr auto ungqr = zungqr_;
  static constexpr auto heevd = zheevd_;
  static constexpr auto geev = zgeev_;
  static constexpr auto gesdd = zgesdd_;
  static constexpr auto trsm = ztrsm_;
};

/// Of real symmetric matrices.
template <class T>
struct TridiagonalRoutines;
template <>
struct TridiagonalRoutines<float> {
  static constexpr auto sytrd = ssytrd_;
  static constexpr auto stedc = sstedc_;
};
template <>
struct TridiagonalRoutines<double> {
  static constexpr auto sytrd = dsytrd_;
  static constexpr auto stedc = dstedc_;
};

}  // namespace lamella::linalg
