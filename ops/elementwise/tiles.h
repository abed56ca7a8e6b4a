#pragma once

#include "ops/elementwise/launch.h"
#include "ops/elementwise/loop.h"

namespace lamella {

/// Bytes of an element of the result, and of each operand.
struct ElementSizes {
  std::int64_t out;
  std::int64_t in[StridedLoop::kMaxOperands];
};

/// The innermost two axes of a loop as one kernel call.
Loop inner_loop(const StridedLoop& all);

/// Where an operand's elements lie side by side along another axis than the result's, makes that the second last axis
/// of the loop. False where no operand lies so, or where the rows of a result of so many bytes an element would be
/// short and apart; then the loop is as it was.
bool find_transposed(StridedLoop& loop, std::int64_t out_size);

/// Computes a loop for which find_transposed() holds; `whole` is its inner_loop(). A row of the result takes one
/// element of each row of such operands, and the next row of the result reads the same cache lines again. So the
/// operands are moved to where their elements lie as the result's do, a tile at a time, whole lines of them.
void run_tiles(LoopKernel kernel, const Loop& whole, const StridedLoop& all, const ElementSizes& sizes);

}  // namespace lamella
