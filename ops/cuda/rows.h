#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/cuda/lanes.h"

// Kernels whose threads work on the rows of a contiguous matrix, several of them on each.

namespace lamella::cuda {

/// Calls f(row, place, true if the row exists) for the rows of this block. All threads make every call.
template <class F>
__device__ void for_each_row(std::int64_t rows, Lanes lanes, F&& f) {
  const Place place(lanes);
  const std::int64_t step = std::int64_t{gridDim.x} * lanes.slots();
  for (std::int64_t first = std::int64_t{blockIdx.x} * lanes.slots(); first < rows; first += step) {
    const std::int64_t row = first + place.slot;
    f(row, place, row < rows);
  }
}

/// The launch of a kernel over rows.
struct RowGrid {
  Lanes lanes;
  unsigned blocks;

  RowGrid(std::int64_t rows, std::int64_t width) : RowGrid(rows, Lanes{lanes_for(width), true}) {}
  RowGrid(std::int64_t rows, Lanes lanes) : lanes(lanes) {
    constexpr std::int64_t kMaxBlocks = 1 << 20;
    blocks = static_cast<unsigned>(std::min<std::int64_t>(kMaxBlocks, (rows + lanes.slots() - 1) / lanes.slots()));
  }
};

}  // namespace lamella::cuda
