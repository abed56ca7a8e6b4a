#pragma once

#include "engine/core/tensor.h"

namespace lamella::cuda {

/// Longest row that a block of threads sorts by itself.
inline constexpr std::int64_t kLongestInBlock = 2048;

/// Returns the length of the rows of x; a 0-d tensor is a row of one.
inline std::int64_t row_length(const Tensor& x) { return x.ndim() == 0 ? 1 : x.shape().back(); }

/// Writes the positions of the first k elements in order of each row of the contiguous x, which must not be empty.
void first_in_order(const Tensor& x, std::int64_t k, bool descending, const Tensor& positions, const char* op);

}  // namespace lamella::cuda
