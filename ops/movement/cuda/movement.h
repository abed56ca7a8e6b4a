#pragma once

#include "engine/core/tensor.h"

namespace lamella::cuda {

/// Writes from's values, cast, into `to`, of the same shape: any strides; at least one of them lies on a CUDA device. A
/// copy from or to the host has ended when this returns.
void copy(const Tensor& to, const Tensor& from);
/// Sets every element of `to`, on a CUDA device, to the one at `value`, in host memory.
void fill(const Tensor& to, const void* value);
/// x itself where it is contiguous, a copy in row-major order otherwise; off the tape.
Tensor as_contiguous(const Tensor& x);

}  // namespace lamella::cuda
