#pragma once

#include <cstdint>

namespace lamella::cpu {

/// Softmax of contiguous rows, or its logarithm if `log`. Output and input may be the same, except for columns.
/// `past_caches`: see Note [Large outputs].
template <class T>
struct SoftmaxKernels {
  void (*forward)(const T* x, T* y, std::int64_t rows, std::int64_t width, bool log, bool past_caches) = nullptr;
  /// Computes the gradient from the result and its gradient.
  void (*backward)(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t width, bool log) = nullptr;
  /// Compute softmax and its gradient along the first axis of a matrix [width, columns], whose rows are `stride` apart.
  void (*forward_columns)(const T* x, T* y, std::int64_t width, std::int64_t columns, std::int64_t stride,
                          bool log) = nullptr;
  void (*backward_columns)(const T* y, const T* dy, T* dx, std::int64_t width, std::int64_t columns,
                           std::int64_t stride, bool log) = nullptr;
  /// Computes y[r] = log of the sum of exp(x) over row r.
  void (*log_sum_exp)(const T* x, T* y, std::int64_t rows, std::int64_t width) = nullptr;
};

struct SoftmaxTable {
  SoftmaxKernels<float> float32;
  SoftmaxKernels<double> float64;
};

void fill_softmax(SoftmaxTable& table);

}  // namespace lamella::cpu
