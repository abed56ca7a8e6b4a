#pragma once

#include <cstddef>

#include "ops/linalg/lapack_routines.h"

namespace lamella::linalg::lapack {

template <class T>
struct TriangleRoutines {
  static constexpr RoutineOf<T, "trtri", void(Option, Option, Size, T*, Size, int*, Length, Length)> trtri{};
  static constexpr RoutineOf<T, "lauum", void(Option, Size, T*, Size, int*, Length)> lauum{};
  static constexpr RoutineOf<T, "trmm",
                             void(Option, Option, Option, Option, Size, Size, const T*, const T*, Size, T*, Size,
                                  Length, Length, Length, Length)>
      trmm{};
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
