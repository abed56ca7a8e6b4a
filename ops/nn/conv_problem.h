#pragma once

#include "engine/core/tensor.h"

namespace lamella::detail {

/// Which of the three tensors of a convolution y = conv(x, w) is computed from the two others: y itself, or one of the
/// transposes of that map.
enum class ConvResult : std::uint8_t { Output, Input, Weight };

/// A convolution of contiguous data: x [n, c, in..], w [o, c / groups, kernel..], y [n, o, out..]. Output o at p is the
/// sum over i and k of w[o, i, k] x[i, stride p - pad_low + dilation k], where x is 0 outside.
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
  /// May be negative, where the last inputs are not read.
  Dims pad_high;

  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  /// One number for each output channel; null for none. Only for ConvResult::Output.
  const void* bias = nullptr;
};

/// What columns_conv() takes: integers of both kinds as unsigned ones, whose overflow is defined.
inline constexpr DTypeSet kColumnsDTypes{DType::UInt64, DType::Float32, DType::Float64};
/// By unfolding x into columns and multiplying matrices. The same bits for any number of threads.
void columns_conv(const ConvProblem& problem);

}  // namespace lamella::detail
