#pragma once

#include "ops/cpu/tables/loop.h"
#include "ops/support/strided_loop.h"

namespace lamella {

/// Sizes in bytes of an element of the result and of each operand.
struct ElementSizes {
  std::int64_t out;
  std::int64_t in[StridedLoop::kMaxOperands];
};

/// Returns the innermost two axes of a loop as one kernel call.
Loop inner_loop(const StridedLoop& all);

/// Finds an operand that is contiguous along another axis than the result and makes that axis the second last of the
/// loop. Returns false, and leaves the loop unchanged, if there is none or if the result's rows would be short and
/// apart; `out_size` is the size of its elements.
bool find_transposed(StridedLoop& loop, std::int64_t out_size);

/// Computes a loop for which find_transposed() returned true; `whole` is its inner_loop(). A row of the result takes
/// one element of each row of a transposed operand, and the next row reads the same cache lines again. So such operands
/// are first copied into the result's order, one tile of whole cache lines at a time.
void run_tiles(LoopKernel kernel, const Loop& whole, const StridedLoop& all, const ElementSizes& sizes);

}  // namespace lamella
