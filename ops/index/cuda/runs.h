#pragma once

#include <cstdint>

#include "engine/core/tensor.h"
#include "ops/cuda/sort_pairs.h"

namespace lamella {
enum class PickAction : std::uint8_t;
}

namespace lamella::cuda {

/// Combines the rows of `values`, [count, width], that go to the same row of `out`, [.., width], and writes them there:
/// alone if `out` is new, else combined with the row that is there. `order` has the rows of `out` in ascending order
/// with those of `values`; both matrices are contiguous, and of one dtype. The action is none that only writes.
void combine_runs(PickAction action, const Tensor& values, const SortedPairs& order, std::int64_t width,
                  const Tensor& out, bool is_new, const char* op);

}  // namespace lamella::cuda
