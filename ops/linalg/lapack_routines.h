#pragma once

#include <complex>
#include <cstddef>

#include "ops/linalg/openblas.h"

// The routines of LAPACK and BLAS in use, as their Fortran symbols (LAPACK Users' Guide, third edition, 1999). The
// declarations give their types only: the functions are looked up in OpenBLAS with their first call.

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

/// The routines for an element type, under their common names.
template <class T>
struct Routines;
template <>
struct Routines<float> {
  using Real = float;
  static constexpr Routine<"spotrf_", decltype(spotrf_)> potrf{};
  static constexpr Routine<"sgetrf_", decltype(sgetrf_)> getrf{};
  static constexpr Routine<"sgetrs_", decltype(sgetrs_)> getrs{};
  static constexpr Routine<"sgetri_", decltype(sgetri_)> getri{};
  static constexpr Routine<"sgeqrf_", decltype(sgeqrf_)> geqrf{};
  static constexpr Routine<"sorgqr_", decltype(sorgqr_)> ungqr{};
  static constexpr Routine<"ssyevd_", decltype(ssyevd_)> heevd{};
  static constexpr Routine<"sgeev_", decltype(sgeev_)> geev{};
  static constexpr Routine<"sgesdd_", decltype(sgesdd_)> gesdd{};
  static constexpr Routine<"strsm_", decltype(strsm_)> trsm{};
};
template <>
struct Routines<double> {
  using Real = double;
  static constexpr Routine<"dpotrf_", decltype(dpotrf_)> potrf{};
  static constexpr Routine<"dgetrf_", decltype(dgetrf_)> getrf{};
  static constexpr Routine<"dgetrs_", decltype(dgetrs_)> getrs{};
  static constexpr Routine<"dgetri_", decltype(dgetri_)> getri{};
  static constexpr Routine<"dgeqrf_", decltype(dgeqrf_)> geqrf{};
  static constexpr Routine<"dorgqr_", decltype(dorgqr_)> ungqr{};
  static constexpr Routine<"dsyevd_", decltype(dsyevd_)> heevd{};
  static constexpr Routine<"dgeev_", decltype(dgeev_)> geev{};
  static constexpr Routine<"dgesdd_", decltype(dgesdd_)> gesdd{};
  static constexpr Routine<"dtrsm_", decltype(dtrsm_)> trsm{};
};
template <>
struct Routines<std::complex<float>> {
  using Real = float;
  static constexpr Routine<"cpotrf_", decltype(cpotrf_)> potrf{};
  static constexpr Routine<"cgetrf_", decltype(cgetrf_)> getrf{};
  static constexpr Routine<"cgetrs_", decltype(cgetrs_)> getrs{};
  static constexpr Routine<"cgetri_", decltype(cgetri_)> getri{};
  static constexpr Routine<"cgeqrf_", decltype(cgeqrf_)> geqrf{};
  static constexpr Routine<"cungqr_", decltype(cungqr_)> ungqr{};
  static constexpr Routine<"cheevd_", decltype(cheevd_)> heevd{};
  static constexpr Routine<"cgeev_", decltype(cgeev_)> geev{};
  static constexpr Routine<"cgesdd_", decltype(cgesdd_)> gesdd{};
  static constexpr Routine<"ctrsm_", decltype(ctrsm_)> trsm{};
};
template <>
struct Routines<std::complex<double>> {
  using Real = double;
  static constexpr Routine<"zpotrf_", decltype(zpotrf_)> potrf{};
  static constexpr Routine<"zgetrf_", decltype(zgetrf_)> getrf{};
  static constexpr Routine<"zgetrs_", decltype(zgetrs_)> getrs{};
  static constexpr Routine<"zgetri_", decltype(zgetri_)> getri{};
  static constexpr Routine<"zgeqrf_", decltype(zgeqrf_)> geqrf{};
  static constexpr Routine<"zungqr_", decltype(zungqr_)> ungqr{};
  static constexpr Routine<"zheevd_", decltype(zheevd_)> heevd{};
  static constexpr Routine<"zgeev_", decltype(zgeev_)> geev{};
  static constexpr Routine<"zgesdd_", decltype(zgesdd_)> gesdd{};
  static constexpr Routine<"ztrsm_", decltype(ztrsm_)> trsm{};
};

/// Routines for real symmetric matrices.
template <class T>
struct TridiagonalRoutines;
template <>
struct TridiagonalRoutines<float> {
  static constexpr Routine<"ssytrd_", decltype(ssytrd_)> sytrd{};
  static constexpr Routine<"sstedc_", decltype(sstedc_)> stedc{};
};
template <>
struct TridiagonalRoutines<double> {
  static constexpr Routine<"dsytrd_", decltype(dsytrd_)> sytrd{};
  static constexpr Routine<"dstedc_", decltype(dstedc_)> stedc{};
};

}  // namespace lamella::linalg
