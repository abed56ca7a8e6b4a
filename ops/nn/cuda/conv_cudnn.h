#pragma once

#include <vector>

#include "engine/runtime/cuda/cudnn.h"
#include "ops/nn/conv_problem.h"

namespace lamella::cuda {

/// Computes a convolution of floating numbers, without its bias, by cuDNN. Returns false, with nothing computed, where
/// cuDNN is missing or turned off, or has no algorithm that keeps what Note [Convolutions by cuDNN] says.
bool convolve_by_cudnn(const lamella::detail::ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y,
                       const char* op);

/// Returns cuDNN's descriptors of a convolution, all finalized: its tensors, its setting, and last the operation.
/// Throws RuntimeError if cuDNN does not take one of them.
std::vector<cudnn::Description> describe_convolution(const lamella::detail::ConvProblem& problem, const Tensor& x,
                                                     const Tensor& w, const Tensor& y, const char* op);

}  // namespace lamella::cuda
