#pragma once

#include <algorithm>

#include "ops/linalg/cpu/product_tile.h"
#include "ops/linalg/cpu/triangle_panel.h"

// Triangular systems for one right-hand side, which read each element once: vectors run along the rows or the columns
// of the triangle, whichever are contiguous.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

template <class T>
class VectorSolver {
 public:
  VectorSolver(Steps<T> a, bool upper, bool unit_diagonal, std::int64_t n, T* x)
      : a_(a), upper_(upper), unit_diagonal_(unit_diagonal), n_(n), x_(x) {}

  static bool takes(Steps<T> a) { return a.row == 1 || a.column == 1; }

  void run() const {
    const std::int64_t blocks = (n_ + kBlock - 1) / kBlock;
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::int64_t begin = (upper_ ? blocks - 1 - i : i) * kBlock;
      const std::int64_t end = std::min(begin + kBlock, n_);
      const std::int64_t solved = upper_ ? end : 0;
      const std::int64_t open = upper_ ? 0 : end;
      if (a_.column == 1) subtract_rows(begin, end, solved, upper_ ? n_ : begin);
      upper_ ? solve_back(begin, end) : solve_forth(begin, end);
      if (a_.column != 1) subtract_columns(begin, end, open, upper_ ? begin : n_);
    }
  }

 private:
  using V = simd::Vec<T>;
  static constexpr std::int64_t kBlock = 16;

  void solve_forth(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t k = begin; k < end; ++k) {
      divide(k);
      for (std::int64_t i = k + 1; i < end; ++i) x_[i] = multiply_add(-*a_.at(i, k), x_[k], x_[i]);
    }
  }
  void solve_back(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t k = end; k-- > begin;) {
      divide(k);
      for (std::int64_t i = begin; i < k; ++i) x_[i] = multiply_add(-*a_.at(i, k), x_[k], x_[i]);
    }
  }
  void divide(std::int64_t k) const {
    if (!unit_diagonal_) x_[k] = x_[k] / *a_.at(k, k);
  }

  /// Computes x[begin, end) -= a[.., first to last] @ x[first, last).
  void subtract_rows(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) const {
    constexpr int kRows = 4;
    std::int64_t i = begin;
    for (; i + kRows <= end; i += kRows) subtract_some_rows<kRows>(i, first, last);
    for (; i < end; ++i) subtract_some_rows<1>(i, first, last);
  }
  template <int kRows>
  void subtract_some_rows(std::int64_t row, std::int64_t first, std::int64_t last) const {
    constexpr int kChains = 2;
    V sums[kRows][kChains];
    for (auto& chains : sums) {
      for (V& sum : chains) sum = V(0);
    }
    const T* const rows = a_.at(row, 0);
    const auto add = [&](int chain, std::int64_t j, V right, auto&& load) {
      for (int r = 0; r < kRows; ++r) sums[r][chain] = multiply_add(load(rows + r * a_.row + j), right, sums[r][chain]);
    };
    const auto load = [](const T* from) { return V::load(from); };
    std::int64_t j = first;
    for (; j + kChains * V::size <= last; j += kChains * V::size) {
      for (int chain = 0; chain < kChains; ++chain) {
        const std::int64_t at = j + chain * V::size;
        add(chain, at, V::load(x_ + at), load);
      }
    }
    for (; j < last; j += V::size) {
      const int count = static_cast<int>(std::min<std::int64_t>(V::size, last - j));
      const auto load_part = [&](const T* from) { return V::load_partial(from, count, T(0)); };
      add(0, j, load_part(x_ + j), load_part);
    }
    for (int r = 0; r < kRows; ++r) {
      T lanes[V::size];
      (sums[r][0] + sums[r][1]).store(lanes);
      for (int width = V::size / 2; width > 0; width /= 2) {
        for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
      }
      x_[row + r] -= lanes[0];
    }
  }

  /// Computes x[first, last) -= a[first to last, begin to end] @ x[begin, end).
  void subtract_columns(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) const {
    std::int64_t i = first;
    for (; i + V::size <= last; i += V::size) {
      V sum = V::load(x_ + i);
      for (std::int64_t k = begin; k < end; ++k) sum = subtract_product(V::load(a_.at(i, k)), V(x_[k]), sum);
      sum.store(x_ + i);
    }
    if (i == last) return;
    const auto count = static_cast<int>(last - i);
    V sum = V::load_partial(x_ + i, count, T(0));
    for (std::int64_t k = begin; k < end; ++k) {
      sum = subtract_product(V::load_partial(a_.at(i, k), count, T(0)), V(x_[k]), sum);
    }
    sum.store_partial(x_ + i, count);
  }

  const Steps<T> a_;
  const bool upper_;
  const bool unit_diagonal_;
  const std::int64_t n_;
  T* const x_;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
