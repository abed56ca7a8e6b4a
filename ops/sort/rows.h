#pragma once

#include "engine/core/tensor.h"
#include "ops/cpu/tables/sorted_rows.h"

namespace lamella {

// Sorting and selection along the last axis of a tensor, off the tape. For real dtypes and bool, on devices that have
// kernels and on meta. Throws ValueError for rows of more than 2 to the power of 32 elements.

/// Returns the elements of each row in order; the sign of zeros and the bits of NaNs are not preserved.
Tensor sorted_rows(const Tensor& x, bool descending, const char* op);
/// Returns the positions (int64) of the elements in order; equal elements stay in order.
Tensor sorted_positions(const Tensor& x, bool descending, const char* op);
/// Returns the integers or bools of x, which has one axis and is on the CPU, in ascending order, and writes their
/// positions to `positions`, an int64 tensor of the same size.
Tensor sorted_integers(const Tensor& x, const Tensor& positions, const char* op);
/// Returns the positions of the k largest or smallest of each row, k <= its length.
Tensor top_positions(const Tensor& x, std::int64_t k, bool largest, bool sorted, const char* op);
/// Returns the positions of the k largest or smallest along an axis that is not the last, in order. x is contiguous, on
/// the CPU and hides no axes. For 0 < k <= cpu::kMostOfColumns.
Tensor top_positions_down(const Tensor& x, std::int64_t axis, std::int64_t k, bool largest, const char* op);
/// Returns the position of one element of each row, which must not be empty, as rows of one.
Tensor nth_positions(const Tensor& x, cpu::Rank rank, std::int64_t k, const char* op);
/// Returns the position of the first of the most frequent elements of each row, which must not be empty; of several
/// values the smallest. Each NaN counts as a distinct value.
Tensor mode_positions(const Tensor& x, const char* op);

}  // namespace lamella
