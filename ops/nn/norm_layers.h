#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// What a normalization takes mean and deviation over, in x [n, groups, members, size].
enum class NormOver : std::uint8_t {
  /// The last axis: x is [rows, 1, 1, width], weight and bias are [width].
  Rows,
  /// The last two, for each example and group: weight and bias are [groups, members, 1].
  Groups,
  /// All but the second: x is [n, channels, 1, size], weight and bias are [channels, 1, 1].
  Batch,
};

/// A class, so that it is not taken for a struct of tensors.
class NormSetting {
 public:
  NormSetting() = default;
  NormSetting(const char* op, NormOver over, double eps, bool centered = true)
      : op(op), over(over), eps(eps), centered(centered) {}

  const char* op = "";
  NormOver over = NormOver::Rows;
  double eps = 0;
  /// Without it the mean is taken for 0.
  bool centered = true;
};

/// Mean and (biased) variance that a batch had, for whoever keeps running ones: [channels].
struct BatchStatistics {
  Tensor mean;
  Tensor variance;
};

/// (x - mean) / sqrt(variance + eps) * weight + bias; x is float32 or float64, as are weight and bias. Recorded. Fills
/// `statistics`, unless null, of NormOver::Batch.
Tensor normalize(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                 const NormSetting& setting, BatchStatistics* statistics = nullptr);

/// x * scale + shift for x [n, channels, size], with scale and shift [channels, 1]. Recorded.
Tensor scale_and_shift(const Tensor& x, const Tensor& scale, const Tensor& shift);

}  // namespace lamella
