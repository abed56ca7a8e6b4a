#pragma once

#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct CtcLoss {
  static constexpr OpInfo info{
      .name = "ctc_loss",
      .doc =
          "Connectionist temporal classification (Graves et al., 2006): minus the logarithm of the probability of a "
          "target sequence, over all its alignments to the steps. log_probs is [steps, sequences, classes], or [steps, "
          "classes] for one sequence; it is normalized along the classes once more, so that the gradient is that of "
          "unnormalized scores. targets is [sequences, longest], or [all lengths together]; the lengths hold an "
          "integer "
          "for each sequence. reduction 'mean' divides each loss by its target's length, then averages; 'sum' adds, "
          "'none' gives one for each sequence. A target that does not fit into its steps has an infinite loss, or with "
          "zero_infinity 0, and then no gradient.",
      .parameters = "log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False",
      .example = "ctc_loss(zeros([4, 1, 3]), asarray([[1, 2]]), asarray([4]), asarray([2]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws ValueError for shapes and lengths that do not fit, IndexError for a target that is not a class, TypeError
  /// for targets or lengths that are not integers.
  static Tensor call(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                     const Tensor& target_lengths, std::int64_t blank, std::string_view reduction, bool zero_infinity);
};

inline Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, std::int64_t blank = 0, std::string_view reduction = "mean",
                       bool zero_infinity = false) {
  return CtcLoss::call(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity);
}

}  // namespace lamella
