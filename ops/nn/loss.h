#pragma once

#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct CrossEntropy {
  static constexpr OpInfo info{
      .name = "cross_entropy",
      .doc =
          "Minus the logarithm of the probability that softmax(input) gives to the target class. `input` is "
          "[..., classes], `target` holds class numbers, with the shape of input without its last axis. "
          "reduction is 'mean', 'sum' or 'none'.",
      .parameters = "input, target, reduction='mean'",
      .example = "cross_entropy(zeros([2, 3]), asarray([0, 2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  /// IndexError for a class out of range, TypeError for a target that is not of integers, ValueError for shapes that do
  /// not fit.
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction);
};

struct MseLoss {
  static constexpr OpInfo info{
      .name = "mse_loss",
      .doc = "The squared difference of input and target; reduction is 'mean', 'sum' or 'none'.",
      .parameters = "input, target, reduction='mean'",
      .example = "mse_loss(zeros([2]), ones([2]))",
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction);
};

inline Tensor cross_entropy(const Tensor& input, const Tensor& target, std::string_view reduction = "mean") {
  return CrossEntropy::call(input, target, reduction);
}
inline Tensor mse_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean") {
  return MseLoss::call(input, target, reduction);
}

}  // namespace lamella
