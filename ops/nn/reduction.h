#pragma once

#include <string_view>

#include "engine/core/tensor.h"

namespace lamella {

/// ValueError, naming `op`, for a reduction other than 'mean', 'sum' and 'none'.
void check_reduction(std::string_view reduction, const char* op);
/// The terms of a loss, their sum or their mean, which of no terms is NaN.
Tensor reduce_loss(const Tensor& terms, std::string_view reduction, const char* op);
/// ValueError where input and target do not have one shape.
void check_same_shape(const Tensor& input, const Tensor& target, const char* op);

}  // namespace lamella
