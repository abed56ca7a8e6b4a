#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

namespace lamella {

/// The axes of x [n, groups, members, size] over which a normalization takes mean and deviation.
enum class NormOver : std::uint8_t {
  /// The last axis: x is [rows, 1, 1, width], weight and bias are [width].
  Rows,
  /// The last two axes, for each example and group: weight and bias are [groups, members, 1].
  Groups,
  /// All axes but the second: x is [n, channels, 1, size], weight and bias are [channels, 1, 1].
  Batch,
};

/// The parameters of a normalization. A class, so that it is not mistaken for a struct of tensors.
class NormSetting {
 public:
  NormSetting() = default;
  NormSetting(const char* op, NormOver over, double eps, bool centered = true)
      : op(op), over(over), eps(eps), centered(centered) {}

  const char* op = "";
  NormOver over = NormOver::Rows;
  double eps = 0;
  /// If false, the mean is taken as 0.
  bool centered = true;
};

/// Mean and (biased) variance of a batch, [channels], for running statistics.
struct BatchStatistics {
  Tensor mean;
  Tensor variance;
};

}  // namespace lamella
