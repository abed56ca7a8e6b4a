#pragma once

#include "ops/linalg/lapack_routines.h"

// The routines of LAPACK that solve for least squares.

extern "C" {
void sgels_(const char*, const int*, const int*, const int*, float*, const int*, float*, const int*, float*, const int*,
            int*, std::size_t);
void dgels_(const char*, const int*, const int*, const int*, double*, const int*, double*, const int*, double*,
            const int*, int*, std::size_t);
void cgels_(const char*, const int*, const int*, const int*, lapack_c*, const int*, lapack_c*, const int*, lapack_c*,
            const int*, int*, std::size_t);
void zgels_(const char*, const int*, const int*, const int*, lapack_z*, const int*, lapack_z*, const int*, lapack_z*,
            const int*, int*, std::size_t);

void sgelsy_(const int*, const int*, const int*, float*, const int*, float*, const int*, int*, const float*, int*,
             float*, const int*, int*);
void dgelsy_(const int*, const int*, const int*, double*, const int*, double*, const int*, int*, const double*, int*,
             double*, const int*, int*);
void cgelsy_(const int*, const int*, const int*, lapack_c*, const int*, lapack_c*, const int*, int*, const float*, int*,
             lapack_c*, const int*, float*, int*);
void zgelsy_(const int*, const int*, const int*, lapack_z*, const int*, lapack_z*, const int*, int*, const double*,
             int*, lapack_z*, const int*, double*, int*);

void sgelsd_(const int*, const int*, const int*, float*, const int*, float*, const int*, float*, const float*, int*,
             float*, const int*, int*, int*);
void dgelsd_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*, const double*, int*,
             double*, const int*, int*, int*);
void cgelsd_(const int*, const int*, const int*, lapack_c*, const int*, lapack_c*, const int*, float*, const float*,
             int*, lapack_c*, const int*, float*, int*, int*);
void zgelsd_(const int*, const int*, const int*, lapack_z*, const int*, lapack_z*, const int*, double*, const double*,
             int*, lapack_z*, const int*, double*, int*, int*);

void sgelss_(const int*, const int*, const int*, float*, const int*, float*, const int*, float*, const float*, int*,
             float*, const int*, int*);
void dgelss_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*, const double*, int*,
             double*, const int*, int*);
void cgelss_(const int*, const int*, const int*, lapack_c*, const int*, lapack_c*, const int*, float*, const float*,
             int*, lapack_c*, const int*, float*, int*);
void zgelss_(const int*, const int*, const int*, lapack_z*, const int*, lapack_z*, const int*, double*, const double*,
             int*, lapack_z*, const int*, double*, int*);
}

namespace lamella::linalg {

template <class T>
struct LeastSquaresRoutines;
template <>
struct LeastSquaresRoutines<float> {
  static constexpr auto gels = sgels_;
  static constexpr auto gelsy = sgelsy_;
  static constexpr auto gelsd = sgelsd_;
  static constexpr auto gelss = sgelss_;
};
template <>
struct LeastSquaresRoutines<double> {
  static constexpr auto gels = dgels_;
  static constexpr auto gelsy = dgelsy_;
  static constexpr auto gelsd = dgelsd_;
  static constexpr auto gelss = dgelss_;
};
template <>
struct LeastSquaresRoutines<std::complex<float>> {
  static constexpr auto gels = cgels_;
  static constexpr auto gelsy = cgelsy_;
  static constexpr auto gelsd = cgelsd_;
  static constexpr auto gelss = cgelss_;
};
template <>
struct LeastSquaresRoutines<std::complex<double>> {
  static constexpr auto gels = zgels_;
  static constexpr auto gelsy = zgelsy_;
  static constexpr auto gelsd = zgelsd_;
  static constexpr auto gelss = zgelss_;
};

}  // namespace lamella::linalg
