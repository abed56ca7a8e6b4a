#pragma once

#include <cstdint>

#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "engine/core/tensor.h"
#include "ops/index/cpu/loops_table.h"

// The loops on the CPU behind indexing with tensors, and behind gather() and scatter().

namespace lamella {

using PickAxes = SmallVector<PickAxis, 5>;

/// The elements data + numbers[p] * step, for each p, along with some axes that both sides have in full.
///
/// Where a number occurs twice its values take effect in the order of p: threads share the axes or the rows, and all
/// picks of a row are one thread's, so the result does not depend on how many there are. `distinct` says that no number
/// does.
struct RowPicks {
  char* data = nullptr;
  char* values = nullptr;
  const std::int64_t* numbers = nullptr;
  std::int64_t count = 0;
  std::int64_t step = 0;
  std::int64_t value_step = 0;
  bool distinct = false;
  /// That the elements lie in more memory than the caches and the translation of addresses hold.
  bool far = false;
  PickAxes axes;
};

/// The same with numbers of their own for each place of the axes: the element lies at data + numbers[i] * step where
/// the axes lead. `along` is the axis of the numbers that stands for the one that is picked along (its `data` is 0).
struct AlongPicks {
  char* data = nullptr;
  char* values = nullptr;
  const std::int64_t* numbers = nullptr;
  std::int64_t step = 0;
  std::size_t along = 0;
  /// The size of the axis that is picked along, for numbers that are not known to be in range; -1 for others.
  std::int64_t size = -1;
  PickAxes axes;
};

/// Runs the loop. Add and Multiply take all dtypes but float16 and bfloat16, Max and Min those of them that have an
/// order.
void run_picks(PickAction action, DType dtype, const RowPicks& picks);
/// False where `size` is given and a number is not within it; what belongs to that number and some others is then left
/// as it is.
bool run_picks(PickAction action, DType dtype, const AlongPicks& picks);

/// For `lines` lines of `count` numbers, and of `size` elements at `data`, each behind the other: the element of each
/// number to `values`, but 0 where a later number of its line is the same.
void run_last_picks(DType dtype, const char* data, const std::int64_t* numbers, char* values, std::int64_t lines,
                    std::int64_t count, std::int64_t size);

/// Sets the elements of `data` where `mask`, bytes of 0 and 1, is true to the one at `value`.
void run_masked_fill(DType dtype, char* data, const char* mask, const char* value, std::int64_t count);

/// Whether all numbers lie in [0, size).
bool all_in_range(const std::int64_t* numbers, std::int64_t count, std::int64_t size);

}  // namespace lamella
