#pragma once

#include <cstdint>

namespace lamella::optim {
template <class S>
struct SgdNumbers;
template <class S>
struct AdamNumbers;
}  // namespace lamella::optim

namespace lamella::cpu {

/// Optimizer steps over n contiguous elements.
template <class T>
struct OptimizerKernels {
  /// `velocity` is null without momentum.
  void (*sgd)(const optim::SgdNumbers<T>& numbers, std::int64_t n, T* parameter, const T* gradient,
              T* velocity) = nullptr;
  /// `largest` is null without amsgrad.
  void (*adam)(const optim::AdamNumbers<T>& numbers, std::int64_t n, T* parameter, const T* gradient, T* mean,
               T* square, T* largest) = nullptr;
};

struct OptimizerTable {
  OptimizerKernels<float> float32;
  OptimizerKernels<double> float64;
};

void fill_optimizer(OptimizerTable& table);

}  // namespace lamella::cpu
