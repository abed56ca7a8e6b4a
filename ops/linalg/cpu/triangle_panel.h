#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/linalg/cpu/product_tile.h"

// Systems with a lower triangle, for right-hand sides stored in whole vectors.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Division of every lane by y, by its inverse if that is a normal number, which adds an error of half a unit.
template <class T>
class Divisor {
 public:
  explicit Divisor(T y) : y_(y), inverts_(is_normal(y)), inverse_(inverts_ ? 1 / y : T(0)) {}
  simd::Vec<T> divide(simd::Vec<T> x) const { return inverts_ ? x * inverse_ : x / y_; }

 private:
  using Limits = std::numeric_limits<T>;
  static bool is_normal(T y) { return std::abs(y) >= Limits::min() && std::abs(y) <= 1 / Limits::min(); }

  T y_;
  bool inverts_;
  T inverse_;
};

/// Solves rows [begin, end) of a lower system, after the rows of x before `begin` were subtracted. The rows of the same
/// range are subtracted in registers, kRows rows at a time.
template <int kVectors, int kRows = kTileRows, class T>
void solve_rows(Steps<T> a, bool unit_diagonal, std::int64_t begin, std::int64_t end, T* x, std::int64_t x_row,
                std::int64_t first) {
  std::int64_t i = first;
  for (; i + kRows <= end; i += kRows) {
    Tile<T, kRows, kVectors> sums;
    T* const own = x + i * x_row;
    load_tile<kRows, kVectors>(own, x_row, sums);
    subtract_from_tile<kRows, kVectors>(Steps<T>{a.at(i, begin), a.row, a.column}, x + begin * x_row, x_row, i - begin,
                                        sums);
    const T* const corner = a.at(i, i);
    for (int k = 0; k < kRows; ++k) {
      if (!unit_diagonal) {
        const Divisor<T> diagonal(corner[k * (a.row + a.column)]);
        for (int j = 0; j < kVectors; ++j) sums[k][j] = diagonal.divide(sums[k][j]);
      }
      for (int below = k + 1; below < kRows; ++below) {
        const simd::Vec<T> left(corner[below * a.row + k * a.column]);
        for (int j = 0; j < kVectors; ++j) sums[below][j] = subtract_product(left, sums[k][j], sums[below][j]);
      }
      for (int j = 0; j < kVectors; ++j) sums[k][j].store(own + k * x_row + j * simd::Vec<T>::size);
    }
  }
  if constexpr (kRows > 1) {
    if (i < end) solve_rows<kVectors, fewer_rows(kRows)>(a, unit_diagonal, begin, end, x, x_row, i);
  }
}

/// Overwrites x with a^-1 x, where a is a lower triangle of n rows and the rows of x are kVectors vectors. Blocks of
/// rows are solved and then subtracted from all rows below (Golub and Van Loan, Matrix Computations, section 3.1.4).
template <int kVectors, class T>
void solve_lower(Steps<T> a, bool unit_diagonal, std::int64_t n, T* x, std::int64_t x_row) {
  constexpr std::int64_t kBlock = 240;  // rows of two vectors that fill half of the L1 cache
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = std::min(n, begin + kBlock);
    solve_rows<kVectors>(a, unit_diagonal, begin, end, x, x_row, begin);
    subtract_products<kVectors>(Steps<T>{a.at(end, begin), a.row, a.column}, x + begin * x_row, x_row, x + end * x_row,
                                x_row, n - end, end - begin);
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
