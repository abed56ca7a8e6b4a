#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/nn/spatial.h"
#include "ops/op_info.h"

namespace lamella {

/// Convolution over N spatial axes.
template <int N>
struct Conv {
  static constexpr const char* kExamples[3] = {"conv1d(ones([1, 2, 5]), ones([3, 2, 3]))",
                                               "conv2d(ones([1, 2, 5, 5]), ones([3, 2, 3, 3]), padding='same')",
                                               "conv3d(ones([1, 2, 5, 5, 5]), ones([3, 2, 3, 3, 3]), stride=2)"};
  static constexpr const char* kNames[3] = {"conv1d", "conv2d", "conv3d"};
  static constexpr OpInfo info{
      .name = kNames[N - 1],
      .doc =
          "The cross-correlation of x [n, in, size..] (or [in, size..]) with weight [out, in / groups, kernel..], plus "
          "bias [out]. stride, padding and dilation are one number, or one for each spatial axis; padding may be "
          "'valid' (none) or 'same' (the sizes stay; with a stride of 1, and where the amount is odd one more behind "
          "than in front). The sizes become floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. Of "
          "several groups each connects its own part of the channels of x to its own part of those of the result. "
          "The gradients are convolutions themselves.",
      .parameters = "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
      .example = kExamples[N - 1],
      .dtypes = Numeric,
      .method = false,
      .autocast = Autocast::Lower};
  /// Throws ValueError for shapes and numbers that do not fit, TypeError for bool, RuntimeError for several devices.
  static Tensor call(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride,
                     const Padding& padding, const Dims& dilation, std::int64_t groups);
};

/// Transposed convolution over N spatial axes: the gradient of convolution with respect to its input.
template <int N>
struct ConvTranspose {
  static constexpr const char* kNames[3] = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};
  static constexpr const char* kExamples[3] = {
      "conv_transpose1d(ones([1, 2, 5]), ones([2, 3, 3]))",
      "conv_transpose2d(ones([1, 2, 5, 5]), ones([2, 3, 3, 3]), stride=2, output_padding=1)",
      "conv_transpose3d(ones([1, 2, 3, 3, 3]), ones([2, 3, 2, 2, 2]))"};
  static constexpr OpInfo info{
      .name = kNames[N - 1],
      .doc =
          "The transposed convolution of x [n, in, size..] (or [in, size..]) with weight [in, out / groups, kernel..], "
          "plus bias [out]: each element of x adds its multiple of the kernel to the result. The sizes become "
          "(size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1, where output_padding, less than "
          "the stride or the dilation, says which of the sizes that a convolution maps to `size` is meant. The "
          "gradients are convolutions.",
      .parameters = "x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1",
      .example = kExamples[N - 1],
      .dtypes = Numeric,
      .method = false,
      .autocast = Autocast::Lower};
  /// Throws as Conv does.
  static Tensor call(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride,
                     const Dims& padding, const Dims& output_padding, std::int64_t groups, const Dims& dilation);
};

extern template struct Conv<1>;
extern template struct Conv<2>;
extern template struct Conv<3>;
extern template struct ConvTranspose<1>;
extern template struct ConvTranspose<2>;
extern template struct ConvTranspose<3>;

/// Function forms: `conv<2>(x, weight)` is conv2d in Python.
template <int N>
Tensor conv(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt,
            const Dims& stride = {1}, const Padding& padding = 0, const Dims& dilation = {1}, std::int64_t groups = 1) {
  return Conv<N>::call(x, weight, bias, stride, padding, dilation, groups);
}
template <int N>
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt,
                      const Dims& stride = {1}, const Dims& padding = {0}, const Dims& output_padding = {0},
                      std::int64_t groups = 1, const Dims& dilation = {1}) {
  return ConvTranspose<N>::call(x, weight, bias, stride, padding, output_padding, groups, dilation);
}

}  // namespace lamella
