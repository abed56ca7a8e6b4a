#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// The parameters of a convolution. A class, so that it is not mistaken for a struct of tensors.
class ConvSetting {
 public:
  ConvSetting() = default;
  ConvSetting(const char* op, Dims stride, Dims dilation, std::int64_t groups)
      : op(op), stride(std::move(stride)), dilation(std::move(dilation)), groups(groups) {}

  const char* op = "";
  Dims stride;
  Dims dilation;
  Dims pad_low;
  /// May be negative if the last inputs are not read.
  Dims pad_high;
  std::int64_t groups = 1;
};

// Note [Convolution] y = conv(x, w) is linear in x and in w. Its three tensors play the same role: the derivatives of
// sum(y * conv(x, w)) with respect to each of them are functions of the two others. The gradients of each of these
// three functions are the two others, so that derivatives of every order, forward mode and vmap need no further
// formulas.

/// Returns y [n, o, out..] from x [n, c, in..] and weight [o, c / groups, kernel..]. Recorded.
Tensor conv_output(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                   const ConvSetting& setting);
/// Returns x from y and weight; `in` are x's spatial sizes. Recorded.
Tensor conv_input(const Tensor& y, const Tensor& weight, const ConvSetting& setting, const Dims& in);
/// Returns the weight from x and y; `kernel` are its spatial sizes. Recorded.
Tensor conv_weight(const Tensor& x, const Tensor& y, const ConvSetting& setting, const Dims& kernel);

/// Returns the spatial sizes of conv_output()'s result; all numbers must be valid.
Dims conv_sizes(const Dims& in, const Dims& kernel, const ConvSetting& setting);

}  // namespace lamella
