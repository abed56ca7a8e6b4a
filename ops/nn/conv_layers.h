#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// How a convolution reads its input. A class, so that it is not taken for a struct of tensors.
class ConvSetting {
 public:
  ConvSetting() = default;
  ConvSetting(const char* op, Dims stride, Dims dilation, std::int64_t groups)
      : op(op), stride(std::move(stride)), dilation(std::move(dilation)), groups(groups) {}

  const char* op = "";
  Dims stride;
  Dims dilation;
  Dims pad_low;
  /// May be negative, where the last inputs are not read.
  Dims pad_high;
  std::int64_t groups = 1;
};

// Note [Convolution]
// y = conv(x, w) is linear in x and in w. Its three tensors are on an equal footing: sum(y * conv(x, w)) fixes, by its
// derivative for each of them, a function of the two others. Each of the three functions has the two others for its
// gradients, so that derivatives of every order, forward mode and vmap follow without more formulas.

/// y [n, o, out..] of x [n, c, in..] and weight [o, c / groups, kernel..]. Recorded, as are the others.
Tensor conv_output(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                   const ConvSetting& setting);
/// x of y and weight; `in` are x's spatial sizes.
Tensor conv_input(const Tensor& y, const Tensor& weight, const ConvSetting& setting, const Dims& in);
/// The weight of x and y; `kernel` are its spatial sizes.
Tensor conv_weight(const Tensor& x, const Tensor& y, const ConvSetting& setting, const Dims& kernel);

/// The spatial sizes of conv_output()'s result; all numbers have been checked.
Dims conv_sizes(const Dims& in, const Dims& kernel, const ConvSetting& setting);

}  // namespace lamella
