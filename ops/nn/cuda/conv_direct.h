#pragma once

#include "ops/nn/conv_problem.h"

namespace lamella::cuda {

/// Computes a convolution with a loop over its terms for each element of the result: for few channels per group, and
/// for integers.
void convolve_directly(const lamella::detail::ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y,
                       const Tensor& bias, const char* op);
/// Computes a convolution of images with one channel per group, and returns true; or false where it has no kernel for
/// the sizes.
bool convolve_depthwise(const lamella::detail::ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y,
                        const Tensor& bias, const char* op);
/// Adds one number for each channel to the contiguous y [n, channels, positions].
void add_channels(const Tensor& y, const Tensor& bias, std::int64_t positions, const char* op);

}  // namespace lamella::cuda
