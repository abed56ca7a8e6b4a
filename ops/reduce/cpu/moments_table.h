#pragma once

#include <cstdint>

namespace lamella::cpu {

/// Means and sums of squared deviations from them, of n elements.
template <class T>
struct MomentKernels {
  /// Of a contiguous row.
  void (*row)(const T* x, std::int64_t n, T* mean, T* squares) = nullptr;
  /// Of each of `columns` side by side, rows `step` apart.
  void (*columns)(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns, T* mean, T* squares) = nullptr;
  /// Makes those of a and b together out of (mean, squares) of a, which are overwritten, and of b.
  void (*combine)(std::int64_t count, std::int64_t n_a, T* mean_a, T* squares_a, std::int64_t n_b, const T* mean_b,
                  const T* squares_b) = nullptr;
};

struct MomentTable {
  MomentKernels<float> float32;
  MomentKernels<double> float64;
};

void fill_moments(MomentTable& table);

}  // namespace lamella::cpu
