#pragma once

#include "engine/core/tensor.h"
#include "ops/support/windows.h"

namespace lamella::detail {

/// The tensor of a convolution y = conv(x, w) that is computed from the two others: y, or one of the transposes.
enum class ConvResult : std::uint8_t { Output, Input, Weight };

/// A convolution of contiguous data: x [n, c, in..], w [o, c / groups, kernel..], y [n, o, out..]. Output o at p is the
/// sum over i and k of w[o, i, k] x[i, stride p - pad_low + dilation k], with x = 0 outside.
struct ConvProblem {
  ConvResult result = ConvResult::Output;
  DType dtype = DType::Float32;
  std::int64_t n = 0;
  std::int64_t c = 0;
  std::int64_t o = 0;
  std::int64_t groups = 1;
  Dims in;
  Dims kernel;
  Dims out;
  Dims stride;
  Dims dilation;
  Dims pad_low;
  /// May be negative if the last inputs are not read.
  Dims pad_high;

  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  /// One number per output channel, or null. Only for ConvResult::Output.
  const void* bias = nullptr;
};

/// Returns the windows of x that the outputs read.
inline ImageWindows windows_of(const ConvProblem& problem) {
  ImageWindows windows;
  const std::size_t first = ImageWindows::kAxes - problem.in.size();
  for (std::size_t i = 0; i < problem.in.size(); ++i) {
    windows.in[first + i] = problem.in[i];
    windows.kernel[first + i] = problem.kernel[i];
    windows.out[first + i] = problem.out[i];
    windows.stride[first + i] = problem.stride[i];
    windows.dilation[first + i] = problem.dilation[i];
    windows.pad[first + i] = problem.pad_low[i];
  }
  return windows;
}

/// The dtypes of columns_conv(): integers of either sign are passed as unsigned ones, whose overflow is defined.
inline constexpr DTypeSet kColumnsDTypes{DType::UInt64, DType::Float32, DType::Float64};
/// Computes a convolution by unfolding x into columns and multiplying matrices. The result has the same bits for any
/// number of threads.
void columns_conv(const ConvProblem& problem);

/// True if a convolution on the CPU is a product of matrices that is faster than a convolution.
bool is_pointwise(const ConvProblem& problem);
/// Computes a convolution for which is_pointwise() holds; the tensors are those of the problem, contiguous. `op` is
/// named in errors.
void pointwise_conv(const ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y, const char* op);

}  // namespace lamella::detail
