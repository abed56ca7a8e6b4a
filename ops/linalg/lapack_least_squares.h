#pragma once

#include "ops/linalg/lapack_routines.h"

// The LAPACK routines for least squares.

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
  static constexpr Routine<"sgels_", decltype(sgels_)> gels{};
  static constexpr Routine<"sgelsy_", decltype(sgelsy_)> gelsy{};
  static constexpr Routine<"sgelsd_", decltype(sgelsd_)> gelsd{};
  static constexpr Routine<"sgelss_", decltype(sgelss_)> gelss{};
};
template <>
struct LeastSquaresRoutines<double> {
  static constexpr Routine<"dgels_", decltype(dgels_)> gels{};
  static constexpr Routine<"dgelsy_", decltype(dgelsy_)> gelsy{};
  static constexpr Routine<"dgelsd_", decltype(dgelsd_)> gelsd{};
  static constexpr Routine<"dgelss_", decltype(dgelss_)> gelss{};
};
template <>
struct LeastSquaresRoutines<std::complex<float>> {
  static constexpr Routine<"cgels_", decltype(cgels_)> gels{};
  static constexpr Routine<"cgelsy_", decltype(cgelsy_)> gelsy{};
  static constexpr Routine<"cgelsd_", decltype(cgelsd_)> gelsd{};
  static constexpr Routine<"cgelss_", decltype(cgelss_)> gelss{};
};
template <>
struct LeastSquaresRoutines<std::complex<double>> {
  static constexpr Routine<"zgels_", decltype(zgels_)> gels{};
  static constexpr Routine<"zgelsy_", decltype(zgelsy_)> gelsy{};
  static constexpr Routine<"zgelsd_", decltype(zgelsd_)> gelsd{};
  static constexpr Routine<"zgelss_", decltype(zgelss_)> gelss{};
};

}  // namespace lamella::linalg
