#pragma once

#include <cstdint>

#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "engine/core/tensor.h"
#include "ops/cpu/tables/index_loops.h"

// The CPU loops behind indexing with tensors and behind gather() and scatter().

namespace lamella {

using PickAxes = SmallVector<PickAxis, 5>;

/// Picks the elements data + numbers[p] * step, for each p, combined with axes that both sides have in full.
///
/// The values of a number that occurs twice take effect in the order of p: threads split the axes or the rows, and all
/// picks of a row belong to one thread, so the result does not depend on the number of threads. `distinct` says that no
/// number occurs twice.
struct RowPicks {
  char* data = nullptr;
  char* values = nullptr;
  const std::int64_t* numbers = nullptr;
  std::int64_t count = 0;
  std::int64_t step = 0;
  std::int64_t value_step = 0;
  bool distinct = false;
  /// True if the elements exceed the caches and the TLB, so that prefetching pays.
  bool far = false;
  PickAxes axes;
};

/// Picks with separate numbers for each index combination of the axes: the element at data + numbers[i] * step, at the
/// axes' offset. `along` is the axis of the numbers that runs along the picked axis; its `data` stride is 0.
struct AlongPicks {
  char* data = nullptr;
  char* values = nullptr;
  const std::int64_t* numbers = nullptr;
  std::int64_t step = 0;
  std::size_t along = 0;
  /// Size of the picked axis if the numbers are to be checked against it, else -1.
  std::int64_t size = -1;
  PickAxes axes;
};

/// Runs the loop. Add and Multiply accept all dtypes except float16 and bfloat16, Max and Min those of them that are
/// ordered.
void run_picks(PickAction action, DType dtype, const RowPicks& picks);
/// Returns false if `size` is given and a number is out of range; the elements of that number and of some others are
/// then unchanged.
bool run_picks(PickAction action, DType dtype, const AlongPicks& picks);

/// Writes to `values`, for each of `lines` adjacent lines of `count` numbers, the elements that its numbers pick from
/// `size` elements at `data`, or 0 if a later number of the line is the same.
void run_last_picks(DType dtype, const char* data, const std::int64_t* numbers, char* values, std::int64_t lines,
                    std::int64_t count, std::int64_t size);

/// Sets the elements of `data` where `mask`, bytes of 0 and 1, is true to the element at `value`.
void run_masked_fill(DType dtype, char* data, const char* mask, const char* value, std::int64_t count);

/// True if all numbers are in [0, size).
bool all_in_range(const std::int64_t* numbers, std::int64_t count, std::int64_t size);

}  // namespace lamella
