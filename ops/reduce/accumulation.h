#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// Returns x in the dtype in which sums and products with a result of `dtype` accumulate. Integers wrap around only in
/// the result; for bools, each element is one before they are joined.
Tensor in_accumulation_dtype(const Tensor& x, std::optional<DType> dtype);

}  // namespace lamella
