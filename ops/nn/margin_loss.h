#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Losses that are 0 beyond a margin. `reduction` is 'mean' (over all terms), 'sum' or 'none'. Derivatives at the margin
// itself are those of PyTorch: for hinge_embedding_loss, cosine_embedding_loss, margin_ranking_loss and
// triplet_margin_loss the one-sided derivative on the side where the loss is not 0, for multi_margin_loss 0.

namespace lamella {

struct HingeEmbeddingLoss {
  static constexpr OpInfo info{
      .name = "hinge_embedding_loss",
      .doc = "input where target is 1, max(0, margin - input) where it is -1. reduction is 'mean', 'sum' or 'none'.",
      .parameters = "input, target, margin=1.0, reduction='mean'",
      .example = "hinge_embedding_loss(full([2], 0.5), full([2], -1.0))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, double margin, std::string_view reduction);
};

struct MarginRankingLoss {
  static constexpr OpInfo info{.name = "margin_ranking_loss",
                               .doc =
                                   "max(0, margin - target * (input1 - input2)): a target of 1 wants input1 above "
                                   "input2, -1 below. reduction is "
                                   "'mean', 'sum' or 'none'.",
                               .parameters = "input1, input2, target, margin=0.0, reduction='mean'",
                               .example = "margin_ranking_loss(zeros([2]), ones([2]), ones([2]))",
                               .dtypes = Floating,
                               .method = false,
                               .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                     std::string_view reduction);
};

struct CosineEmbeddingLoss {
  static constexpr OpInfo info{
      .name = "cosine_embedding_loss",
      .doc =
          "For the cosine c of the angle between the rows of input1 and input2: 1 - c where target is 1, max(0, c - "
          "margin) where it is -1. Inputs are [samples, size] or [size]. reduction is 'mean', 'sum' or 'none'.",
      .parameters = "input1, input2, target, margin=0.0, reduction='mean'",
      .example = "cosine_embedding_loss(ones([2, 3]), ones([2, 3]), ones([2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                     std::string_view reduction);
};

struct TripletMarginLoss {
  static constexpr OpInfo info{
      .name = "triplet_margin_loss",
      .doc =
          "max(0, margin + d(anchor, positive) - d(anchor, negative)) with pairwise_distance d. With `swap`, the "
          "distance of positive and negative counts instead of anchor's and negative's where it is smaller (Balntas et "
          "al., 2016). reduction is 'mean', 'sum' or 'none'.",
      .parameters = "anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction='mean'",
      .example = "triplet_margin_loss(zeros([2, 3]), ones([2, 3]), full([2, 3], 3.0))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p,
                     double eps, bool swap, std::string_view reduction);
};

struct MultiMarginLoss {
  static constexpr OpInfo info{
      .name = "multi_margin_loss",
      .doc =
          "The sum over the classes j other than the target t of max(0, margin - input[t] + input[j]) ** p, divided by "
          "the number of classes; `weight` is a factor for each target class. input is [samples, classes] or "
          "[classes], "
          "p 1 or 2. reduction is 'mean', 'sum' or 'none'.",
      .parameters = "input, target, p=1, margin=1.0, weight=None, reduction='mean'",
      .example = "multi_margin_loss(zeros([2, 3]), asarray([0, 2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, std::int64_t p, double margin,
                     const std::optional<Tensor>& weight, std::string_view reduction);
};

inline Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin = 1,
                                   std::string_view reduction = "mean") {
  return HingeEmbeddingLoss::call(input, target, margin, reduction);
}
inline Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                                  std::string_view reduction = "mean") {
  return MarginRankingLoss::call(input1, input2, target, margin, reduction);
}
inline Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                                    std::string_view reduction = "mean") {
  return CosineEmbeddingLoss::call(input1, input2, target, margin, reduction);
}
inline Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                  double margin = 1, double p = 2, double eps = 1e-6, bool swap = false,
                                  std::string_view reduction = "mean") {
  return TripletMarginLoss::call(anchor, positive, negative, margin, p, eps, swap, reduction);
}
inline Tensor multi_margin_loss(const Tensor& input, const Tensor& target, std::int64_t p = 1, double margin = 1,
                                const std::optional<Tensor>& weight = std::nullopt,
                                std::string_view reduction = "mean") {
  return MultiMarginLoss::call(input, target, p, margin, weight, reduction);
}

}  // namespace lamella
