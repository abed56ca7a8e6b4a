#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct CrossEntropy {
  static constexpr OpInfo info{
      .name = "cross_entropy",
      .doc =
          "Minus the logarithm of the probability that softmax(input) gives to the target. The classes are axis 1 of "
          "input ([samples, classes] or [samples, classes, ...]), axis 0 where it has one axis, or `axis`. `target` "
          "holds class numbers, with the shape of input without that axis, or a probability for each class in input's "
          "shape. `weight` is a weight for each class. Class numbers equal to ignore_index count for nothing. With "
          "label_smoothing e, a share e of the target is spread evenly over all classes (Szegedy et al., 2015). "
          "reduction is 'mean' (over class numbers that are not ignored, by their weights; over samples for "
          "probabilities), 'sum' or 'none'.",
      .parameters = "input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0, axis=None",
      .example = "cross_entropy(zeros([2, 3]), asarray([0, 2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws IndexError for a class out of range, TypeError for a target of another dtype, ValueError for shapes that do
  /// not fit and for a label_smoothing outside of [0, 1].
  static Tensor call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                     std::int64_t ignore_index, std::string_view reduction, double label_smoothing,
                     std::optional<std::int64_t> axis);
};

/// Returns cross_entropy for a backward pass that is expected to begin with `seed` (ones if it is undefined) as the
/// gradient of the result, which saves a pass over the logits where `seed` is a number on the CPU. Any other gradient
/// may come.
Tensor cross_entropy_foreseen(const Tensor& input, const Tensor& target, std::int64_t ignore_index,
                              std::string_view reduction, double label_smoothing, std::optional<std::int64_t> axis,
                              const Tensor& seed);

struct NllLoss {
  static constexpr OpInfo info{
      .name = "nll_loss",
      .doc =
          "Minus the element of input, log-probabilities, at the target class; arguments as in cross_entropy, which is "
          "nll_loss of log_softmax.",
      .parameters = "input, target, weight=None, ignore_index=-100, reduction='mean', axis=None",
      .example = "nll_loss(full([2, 3], -1.0), asarray([0, 2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                     std::int64_t ignore_index, std::string_view reduction, std::optional<std::int64_t> axis);
};

inline Tensor cross_entropy(const Tensor& input, const Tensor& target,
                            const std::optional<Tensor>& weight = std::nullopt, std::int64_t ignore_index = -100,
                            std::string_view reduction = "mean", double label_smoothing = 0,
                            std::optional<std::int64_t> axis = std::nullopt) {
  return CrossEntropy::call(input, target, weight, ignore_index, reduction, label_smoothing, axis);
}
inline Tensor nll_loss(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight = std::nullopt,
                       std::int64_t ignore_index = -100, std::string_view reduction = "mean",
                       std::optional<std::int64_t> axis = std::nullopt) {
  return NllLoss::call(input, target, weight, ignore_index, reduction, axis);
}

}  // namespace lamella
