#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Losses that compare input and target element by element. `reduction` is 'mean' (over all terms), 'sum' or 'none'.

namespace lamella {

struct MseLoss {
  static constexpr OpInfo info{
      .name = "mse_loss",
      .doc = "The squared difference of input and target; reduction is 'mean', 'sum' or 'none'.",
      .parameters = "input, target, reduction='mean'",
      .example = "mse_loss(zeros([2]), ones([2]))",
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws ValueError for different shapes.
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction);
};

struct L1Loss {
  static constexpr OpInfo info{
      .name = "l1_loss",
      .doc = "|input - target|; reduction is 'mean', 'sum' or 'none'. Where the two are equal the derivative is 0.",
      .parameters = "input, target, reduction='mean'",
      .example = "l1_loss(zeros([2]), ones([2]))",
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction);
};

struct SmoothL1Loss {
  static constexpr OpInfo info{
      .name = "smooth_l1_loss",
      .doc =
          "d * d / (2 * beta) where d = input - target is below beta in magnitude, and |d| - beta / 2 elsewhere "
          "(Girshick, 2015). A beta of 0 gives l1_loss. reduction is 'mean', 'sum' or 'none'.",
      .parameters = "input, target, reduction='mean', beta=1.0",
      .example = "smooth_l1_loss(zeros([2]), ones([2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws ValueError for a negative beta.
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction, double beta);
};

struct HuberLoss {
  static constexpr OpInfo info{
      .name = "huber_loss",
      .doc =
          "d * d / 2 where d = input - target is below delta in magnitude, and delta * (|d| - delta / 2) elsewhere "
          "(Huber, 1964). reduction is 'mean', 'sum' or 'none'.",
      .parameters = "input, target, reduction='mean', delta=1.0",
      .example = "huber_loss(zeros([2]), ones([2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws ValueError if delta is not above 0.
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction, double delta);
};

struct BinaryCrossEntropy {
  static constexpr OpInfo info{
      .name = "binary_cross_entropy",
      .doc =
          "-weight * (target * log(input) + (1 - target) * log(1 - input)) for probabilities `input` and `target`. The "
          "logarithms are at least -100, so that the loss stays finite. `weight` broadcasts to input.",
      .parameters = "input, target, weight=None, reduction='mean'",
      .example = "binary_cross_entropy(full([2], 0.25), ones([2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws ValueError for an input outside of [0, 1] or shapes that do not fit.
  static Tensor call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                     std::string_view reduction);
};

struct BinaryCrossEntropyWithLogits {
  static constexpr OpInfo info{
      .name = "binary_cross_entropy_with_logits",
      .doc =
          "binary_cross_entropy of sigmoid(input), without its rounding. `pos_weight` multiplies the term of target, "
          "`weight` all of it; both broadcast to input.",
      .parameters = "input, target, weight=None, reduction='mean', pos_weight=None",
      .example = "binary_cross_entropy_with_logits(zeros([2]), ones([2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                     std::string_view reduction, const std::optional<Tensor>& pos_weight);
};

struct KlDiv {
  static constexpr OpInfo info{
      .name = "kl_div",
      .doc =
          "target * (log(target) - input), with log-probabilities `input`; with log_target, `target` holds "
          "log-probabilities too. A probability of 0 adds 0. reduction is 'mean', 'sum', 'none', or 'batchmean': the "
          "sum divided by the size of axis 0, which is the divergence of Kullback and Leibler (1951).",
      .parameters = "input, target, reduction='mean', log_target=False",
      .example = "kl_div(full([2, 2], -0.7), full([2, 2], 0.5), reduction='batchmean')",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction, bool log_target);
};

struct PoissonNllLoss {
  static constexpr OpInfo info{
      .name = "poisson_nll_loss",
      .doc =
          "exp(input) - target * input, or with log_input=False input - target * log(input + eps); `full` adds "
          "Stirling's approximation of log(target!) where target is above 1.",
      .parameters = "input, target, log_input=True, full=False, eps=1e-8, reduction='mean'",
      .example = "poisson_nll_loss(zeros([2]), ones([2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                     std::string_view reduction);
};

struct GaussianNllLoss {
  static constexpr OpInfo info{
      .name = "gaussian_nll_loss",
      .doc =
          "(log(var) + (input - target)^2 / var) / 2 (Nix and Weigend, 1994), where variances below eps count as eps "
          "and get no gradient; `full` adds log(2 pi) / 2. input and target broadcast; `var` has input's shape, or "
          "that "
          "without its last axis or with one axis of size 1.",
      .parameters = "input, target, var, full=False, eps=1e-6, reduction='mean'",
      .example = "gaussian_nll_loss(zeros([2]), ones([2]), ones([2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws ValueError if eps is not above 0 or the shape of var does not fit.
  static Tensor call(const Tensor& input, const Tensor& target, const Tensor& var, bool full, double eps,
                     std::string_view reduction);
};

struct SoftMarginLoss {
  static constexpr OpInfo info{.name = "soft_margin_loss",
                               .doc = "log(1 + exp(-target * input)) for targets of 1 and -1.",
                               .parameters = "input, target, reduction='mean'",
                               .example = "soft_margin_loss(zeros([2]), ones([2]))",
                               .dtypes = Floating,
                               .method = false,
                               .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction);
};

inline Tensor mse_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean") {
  return MseLoss::call(input, target, reduction);
}
inline Tensor l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean") {
  return L1Loss::call(input, target, reduction);
}
inline Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean",
                             double beta = 1) {
  return SmoothL1Loss::call(input, target, reduction, beta);
}
inline Tensor huber_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean",
                         double delta = 1) {
  return HuberLoss::call(input, target, reduction, delta);
}
inline Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                                   const std::optional<Tensor>& weight = std::nullopt,
                                   std::string_view reduction = "mean") {
  return BinaryCrossEntropy::call(input, target, weight, reduction);
}
inline Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                               const std::optional<Tensor>& weight = std::nullopt,
                                               std::string_view reduction = "mean",
                                               const std::optional<Tensor>& pos_weight = std::nullopt) {
  return BinaryCrossEntropyWithLogits::call(input, target, weight, reduction, pos_weight);
}
inline Tensor kl_div(const Tensor& input, const Tensor& target, std::string_view reduction = "mean",
                     bool log_target = false) {
  return KlDiv::call(input, target, reduction, log_target);
}
inline Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input = true, bool full = false,
                               double eps = 1e-8, std::string_view reduction = "mean") {
  return PoissonNllLoss::call(input, target, log_input, full, eps, reduction);
}
inline Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full = false,
                                double eps = 1e-6, std::string_view reduction = "mean") {
  return GaussianNllLoss::call(input, target, var, full, eps, reduction);
}
inline Tensor soft_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean") {
  return SoftMarginLoss::call(input, target, reduction);
}

}  // namespace lamella
