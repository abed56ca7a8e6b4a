#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Losses of samples with several labels each.

namespace lamella {

struct MultiLabelMarginLoss {
  static constexpr OpInfo info{
      .name = "multilabel_margin_loss",
      .doc =
          "The sum over the labels t of a sample and the classes j that are none of its labels of max(0, 1 - input[t] "
          "+ "
          "input[j]), divided by the number of classes. input is [samples, classes] or [classes]; target, integers of "
          "its shape, has the labels of a sample first and, where there are fewer than classes, -1 behind them.",
      .parameters = "input, target, reduction='mean'",
      .example = "multilabel_margin_loss(zeros([1, 3]), asarray([[2, -1, -1]]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws ValueError for other shapes, IndexError for a label that is not a class.
  static Tensor call(const Tensor& input, const Tensor& target, std::string_view reduction);
};

struct MultiLabelSoftMarginLoss {
  static constexpr OpInfo info{
      .name = "multilabel_soft_margin_loss",
      .doc =
          "The mean over the classes, along the last axis, of binary_cross_entropy_with_logits; `weight` is a factor "
          "that broadcasts.",
      .parameters = "input, target, weight=None, reduction='mean'",
      .example = "multilabel_soft_margin_loss(zeros([2, 3]), ones([2, 3]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                     std::string_view reduction);
};

}  // namespace lamella
