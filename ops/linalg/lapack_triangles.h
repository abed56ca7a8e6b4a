#pragma once

#include <complex>
#include <cstddef>

#include "ops/linalg/lapack_routines.h"

extern "C" {
void strtri_(const char*, const char*, const int*, float*, const int*, int*, std::size_t, std::size_t);
void dtrtri_(const char*, const char*, const int*, double*, const int*, int*, std::size_t, std::size_t);
void ctrtri_(const char*, const char*, const int*, lapack_c*, const int*, int*, std::size_t, std::size_t);
void ztrtri_(const char*, const char*, const int*, lapack_z*, const int*, int*, std::size_t, std::size_t);

void slauum_(const char*, const int*, float*, const int*, int*, std::size_t);
void dlauum_(const char*, const int*, double*, const int*, int*, std::size_t);
void clauum_(const char*, const int*, lapack_c*, const int*, int*, std::size_t);
void zlauum_(const char*, const int*, lapack_z*, const int*, int*, std::size_t);

void strmm_(const char*, const char*, const char*, const char*, const int*, const int*, const float*, const float*,
            const int*, float*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
void dtrmm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
void ctrmm_(const char*, const char*, const char*, const char*, const int*, const int*, const lapack_c*,
            const lapack_c*, const int*, lapack_c*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
void ztrmm_(const char*, const char*, const char*, const char*, const int*, const int*, const lapack_z*,
            const lapack_z*, const int*, lapack_z*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
}

namespace lamella::linalg::lapack {

template <class T>
struct TriangleRoutines;
template <>
struct TriangleRoutines<float> {
  static constexpr Routine<"strtri_", decltype(strtri_)> trtri{};
  static constexpr Routine<"slauum_", decltype(slauum_)> lauum{};
  static constexpr Routine<"strmm_", decltype(strmm_)> trmm{};
};
template <>
struct TriangleRoutines<double> {
  static constexpr Routine<"dtrtri_", decltype(dtrtri_)> trtri{};
  static constexpr Routine<"dlauum_", decltype(dlauum_)> lauum{};
  static constexpr Routine<"dtrmm_", decltype(dtrmm_)> trmm{};
};
template <>
struct TriangleRoutines<std::complex<float>> {
  static constexpr Routine<"ctrtri_", decltype(ctrtri_)> trtri{};
  static constexpr Routine<"clauum_", decltype(clauum_)> lauum{};
  static constexpr Routine<"ctrmm_", decltype(ctrmm_)> trmm{};
};
template <>
struct TriangleRoutines<std::complex<double>> {
  static constexpr Routine<"ztrtri_", decltype(ztrtri_)> trtri{};
  static constexpr Routine<"zlauum_", decltype(zlauum_)> lauum{};
  static constexpr Routine<"ztrmm_", decltype(ztrmm_)> trmm{};
};

/// Inverts the triangle of a, "L" or "U", in place by halves: the inverses of the halves are multiplied by the block
/// beside them. (OpenBLAS's own routine works column by column, which takes three times as long.) Returns the number,
/// from 1 on, of a zero on the diagonal, or 0.
template <class T>
int invert_triangle(const char* part, int n, T* a, int step) {
  constexpr int kSmall = 64;
  if (n <= kSmall) {
    int info = 0;
    TriangleRoutines<T>::trtri(part, "N", &n, a, &step, &info, 1, 1);
    return info;
  }
  const int half = n / 2;
  const int rest = n - half;
  T* const last = a + static_cast<std::ptrdiff_t>(half) * step + half;
  if (const int info = invert_triangle(part, half, a, step); info > 0) return info;
  if (const int info = invert_triangle(part, rest, last, step); info > 0) return half + info;
  const T one(1);
  const T minus(-1);
  const bool lower = *part == 'L';
  T* const beside = lower ? a + half : a + static_cast<std::ptrdiff_t>(half) * step;
  const int rows = lower ? rest : half;
  const int columns = lower ? half : rest;
  const auto trmm = TriangleRoutines<T>::trmm;
  trmm("L", part, "N", "N", &rows, &columns, &minus, lower ? last : a, &step, beside, &step, 1, 1, 1, 1);
  trmm("R", part, "N", "N", &rows, &columns, &one, lower ? a : last, &step, beside, &step, 1, 1, 1, 1);
  return 0;
}

}  // namespace lamella::linalg::lapack
