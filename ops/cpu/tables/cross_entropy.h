#pragma once

#include <cstdint>

namespace lamella::cpu {

/// Cross-entropy of contiguous rows of logits with the numbers of classes. A row whose number is negative counts for
/// nothing and is not read. A share `smoothing` of each target is spread evenly over all classes.
template <class T>
struct CrossEntropyKernels {
  /// Computes the terms, one for each row, and in `powers`, for each row, its largest element and the sum of
  /// exp(x - largest element).
  void (*forward)(const T* x, const std::int64_t* numbers, T* terms, T* powers, std::int64_t rows, std::int64_t width,
                  T smoothing) = nullptr;
  /// Computes the gradient dx from that of the terms. `past_caches`: see Note [Large outputs].
  void (*backward)(const T* x, const std::int64_t* numbers, const T* powers, const T* dterms, T* dx, std::int64_t rows,
                   std::int64_t width, T smoothing, bool past_caches) = nullptr;
  /// Computes both, for the same gradient `dterm` of all terms; `scratch` has room for a row.
  void (*at_once)(const T* x, const std::int64_t* numbers, T dterm, T* terms, T* powers, T* dx, T* scratch,
                  std::int64_t rows, std::int64_t width, T smoothing, bool past_caches) = nullptr;
};

struct CrossEntropyTable {
  CrossEntropyKernels<float> float32;
  CrossEntropyKernels<double> float64;
};

void fill_cross_entropy(CrossEntropyTable& table);

}  // namespace lamella::cpu
