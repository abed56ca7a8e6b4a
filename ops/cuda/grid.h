#pragma once

#include <algorithm>
#include <cstdint>

// Kernels whose threads work on elements, in any order.

namespace lamella::cuda {

inline constexpr int kGridThreads = 256;

/// Returns the number of blocks of kGridThreads threads for a loop over `elements`.
inline unsigned grid_blocks(std::int64_t elements) {
  constexpr std::int64_t kMaxBlocks = 1 << 20;
  return static_cast<unsigned>(std::min(kMaxBlocks, (elements + kGridThreads - 1) / kGridThreads));
}

/// Calls f(i) for this thread's share of [0, n).
template <class F>
__device__ void for_each_element(std::int64_t n, F&& f) {
  const std::int64_t step = std::int64_t{gridDim.x} * kGridThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kGridThreads + threadIdx.x; i < n; i += step) f(i);
}

}  // namespace lamella::cuda
