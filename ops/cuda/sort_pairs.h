#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

namespace lamella::cuda {

/// Pairs in the order of their keys; int64.
struct SortedPairs {
  Tensor keys;
  Tensor values;
};

/// Sorts pairs on a device by the low `bits` of their keys, the highest of 64 being the sign; pairs of equal keys stay
/// in order. The values are 0, 1, … where `values` is null. The device must be the current one.
SortedPairs sort_pairs(const std::int64_t* keys, const std::int64_t* values, std::int64_t count, int bits,
                       Device device, const char* op);

}  // namespace lamella::cuda
