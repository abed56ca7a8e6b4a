#pragma once

#include "engine/core/tensor.h"

namespace lamella::cuda {

/// Writes the values of `from`, cast, into `to`, which has the same shape; any strides. At least one of them is on a
/// CUDA device. Returns after a copy from or to the host has finished.
void copy(const Tensor& to, const Tensor& from);
/// Sets every element of `to`, on a CUDA device, to the one at `value`, in host memory.
void fill(const Tensor& to, const void* value);
/// Returns x if it is contiguous, else a copy in row-major order; off the tape.
Tensor as_contiguous(const Tensor& x);

}  // namespace lamella::cuda
