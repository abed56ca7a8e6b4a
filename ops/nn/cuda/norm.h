#pragma once

#include "ops/nn/norm_columns.h"

namespace lamella::cuda {

/// Normalizes x by groups, as DeviceKernels::normalize_rows does.
Tensor normalize_groups(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormSetting& setting,
                        NormMeasures& measures);
/// Returns the gradients of normalize_groups; those of weight and bias where they are wanted.
NormGrads normalize_groups_gradient(const Tensor& x, const Tensor& weight, const Tensor& dy,
                                    const NormMeasures& measures, const NormSetting& setting, bool want_weight,
                                    bool want_bias);

}  // namespace lamella::cuda
