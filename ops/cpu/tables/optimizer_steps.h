#pragma once

#include <cstdint>

namespace lamella::optim {
template <class S>
struct Shared;
}  // namespace lamella::optim

namespace lamella::cpu {

/// An optimizer's step over n contiguous elements. Pointers to states that the formula does without are null.
template <class T>
using OptimizerStep = void (*)(const double* numbers, const optim::Shared<double>& shared, std::int64_t n, T* parameter,
                               const T* gradient, T* const* states);

/// Arrays of kernels, in the order of optim::Formulas.
struct OptimizerTable {
  const OptimizerStep<float>* float32 = nullptr;
  const OptimizerStep<double>* float64 = nullptr;
};

void fill_optimizer(OptimizerTable& table);

}  // namespace lamella::cpu
