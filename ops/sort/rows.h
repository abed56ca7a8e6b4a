#pragma once

#include "engine/core/tensor.h"
#include "ops/sort/cpu/rows_table.h"

namespace lamella {

// What sorting and selecting do to the last axis of a tensor, off the tape. Real dtypes and bool, on the CPU and on
// meta; NotImplementedError elsewhere, ValueError for rows of more than 2 to the power of 32.

/// The elements of each row in order; the sign of zero and which NaN it is are not kept apart.
Tensor sorted_rows(const Tensor& x, bool descending, const char* op);
/// The positions (int64) of the elements in order, equal ones as they stand.
Tensor sorted_positions(const Tensor& x, bool descending, const char* op);
/// The integers or bools of x, which has one axis and lies on the CPU, in ascending order; and their positions to
/// `positions`, int64 and as many.
Tensor sorted_integers(const Tensor& x, const Tensor& positions, const char* op);
/// The positions of the k largest or smallest of each row, k <= its length.
Tensor top_positions(const Tensor& x, std::int64_t k, bool largest, bool sorted, const char* op);
/// The same along an axis that is not the last of x, which is contiguous, lies on the CPU and hides none; in order. For
/// 0 < k <= cpu::kMostOfColumns.
Tensor top_positions_down(const Tensor& x, std::int64_t axis, std::int64_t k, bool largest, const char* op);
/// The position of one element of each row, which is not empty, in a row of one.
Tensor nth_positions(const Tensor& x, cpu::Rank rank, std::int64_t k, const char* op);
/// The position of the first of the elements that are most frequent in each row, which is not empty: of several values
/// the smallest. Each NaN is a value of its own.
Tensor mode_positions(const Tensor& x, const char* op);

}  // namespace lamella
