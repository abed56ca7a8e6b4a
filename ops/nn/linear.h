#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Linear {
  static constexpr OpInfo info{
      .name = "linear",
      .doc =
          "x @ weight.T + bias, with x of shape [.., in], weight of shape [out, in], or [in] for one output without an "
          "axis, and bias of shape [out]. "
          "Gradients: dx = dy @ weight, dweight = dy.T @ x and dbias = the sum of dy, over all leading axes.",
      .parameters = "x, weight, bias=None",
      .example = "linear(ones([2, 3]), ones([4, 3]), zeros([4]))",
      .reference = "x @ weight.T + (0 if bias is None else bias)",
      .dtypes = Numeric,
      .method = false,
      .autocast = Autocast::Lower};
  static Tensor call(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias);
};

inline Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt) {
  return Linear::call(x, weight, bias);
}

}  // namespace lamella
