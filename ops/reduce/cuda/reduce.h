#pragma once

#include "engine/core/tensor.h"
#include "ops/cpu/tables/reduce.h"

namespace lamella::cuda {

/// Reduces `axes` of x (sorted, with at least one element in all) into the contiguous `out`, whose axes are the others.
/// The order in which elements are combined depends on shape and strides alone. Throws NotImplementedError for dtypes
/// without kernels, and for 2^31 or more elements per result or partial results.
void reduce(cpu::Reduction reduction, const Tensor& x, const Dims& axes, const Tensor& out, const char* op);

}  // namespace lamella::cuda
