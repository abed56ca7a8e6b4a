#pragma once

#include <string_view>

#include "engine/core/tensor.h"

namespace lamella {

/// Throws ValueError that names `op` unless the reduction is 'mean', 'sum' or 'none'.
void check_reduction(std::string_view reduction, const char* op);
/// Returns the terms of a loss, their sum or their mean, which is NaN without terms.
Tensor reduce_loss(const Tensor& terms, std::string_view reduction, const char* op);
/// Throws ValueError unless input and target have the same shape.
void check_same_shape(const Tensor& input, const Tensor& target, const char* op);

}  // namespace lamella
