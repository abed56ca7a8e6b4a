#pragma once

#include <cstdint>

namespace lamella::cpu {

/// Kernels for the mean and the sum of squared deviations from it. These are double, as the mean's own rounding would
/// count where it is large beside the deviations.
template <class T>
struct MomentKernels {
  /// Computes the moments of a contiguous row.
  void (*row)(const T* x, std::int64_t n, double* mean, double* squares) = nullptr;
  /// Computes the moments of `columns` adjacent columns, whose rows are `step` elements apart.
  void (*columns)(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns, double* mean,
                  double* squares) = nullptr;
  /// Combines the moments of a, which are overwritten, with those of b, for each of `count` pairs.
  void (*combine)(std::int64_t count, std::int64_t n_a, double* mean_a, double* squares_a, std::int64_t n_b,
                  const double* mean_b, const double* squares_b) = nullptr;
};

struct MomentTable {
  MomentKernels<float> float32;
  MomentKernels<double> float64;
};

void fill_moments(MomentTable& table);

}  // namespace lamella::cpu
