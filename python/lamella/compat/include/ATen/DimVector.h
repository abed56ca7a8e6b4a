#pragma once

#include <cstdint>

#include "c10/util/SmallVector.h"

namespace at {

/// Sizes or strides of a tensor.
using DimVector = lamella::Dims;

}  // namespace at
