#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/nn/norm_setting.h"

namespace lamella {

/// Returns (x - mean) / sqrt(variance + eps) * weight + bias; x, weight and bias are float32 or float64. Recorded.
/// Fills `statistics`, unless null, for NormOver::Batch.
Tensor normalize(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                 const NormSetting& setting, BatchStatistics* statistics = nullptr);

/// Returns x * scale + shift for x [n, channels, size], with scale and shift [channels, 1]. Recorded.
Tensor scale_and_shift(const Tensor& x, const Tensor& scale, const Tensor& shift);

}  // namespace lamella
