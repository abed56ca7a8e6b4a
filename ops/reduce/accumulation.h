#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// x in the dtype that is summed or multiplied where the result is to have `dtype`. Integers wrap around in the end
/// only.
Tensor in_accumulation_dtype(const Tensor& x, std::optional<DType> dtype);

}  // namespace lamella
