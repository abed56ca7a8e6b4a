#pragma once

#include <optional>

#include "ops/nn/norm_setting.h"

namespace lamella {

/// Saved values that the fused gradient of a normalization needs besides x and the weight: for rows in x's dtype, else
/// float64.
struct NormMeasures {
  Tensor mean;
  Tensor rstd;
};

struct NormGrads {
  Tensor x;
  Tensor weight;
  Tensor bias;
};

// NormOver::Batch for planes of a few elements, x [n, channels, 1, size], which are adjacent in memory: processed as a
// matrix with a column for each element of a plane. All tensors are contiguous, on the CPU, without hidden axes; off
// the tape.

/// Normalizes x; fills `measures`, and `statistics` unless null.
Tensor normalize_columns(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                         const NormSetting& setting, NormMeasures& measures, BatchStatistics* statistics);

/// Returns the gradients from `measures`; `weight` may be undefined. The gradients of weight and bias have the shape
/// `shape`.
NormGrads normalize_columns_backward(const Tensor& x, const Tensor& weight, const Tensor& dy,
                                     const NormMeasures& measures, const NormSetting& setting, const Dims& shape,
                                     bool want_weight, bool want_bias);

}  // namespace lamella
