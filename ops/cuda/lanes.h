#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

// How the threads of a block share results: 1 to 256 of them, the lanes, work on one result together.

namespace lamella::cuda {

inline constexpr std::uint32_t kLaneThreads = 256;

struct Lanes {
  std::uint32_t count;  // a power of two
  /// Neighboring threads are lanes of one result, because its elements are neighbors in memory; otherwise they work on
  /// neighboring results.
  bool neighbors;

  /// Results of one block.
  __host__ __device__ std::uint32_t slots() const { return kLaneThreads / count; }
};

/// Lanes for a result of that many elements: each gets about four.
inline std::uint32_t lanes_for(std::int64_t elements, std::uint32_t at_most = kLaneThreads) {
  if (elements > std::int64_t{4} * at_most) return at_most;
  return std::min(at_most, std::bit_ceil(static_cast<std::uint32_t>((elements + 3) / 4)));
}

/// A thread's place in its block.
struct Place {
  std::uint32_t lane;
  std::uint32_t slot;  // which of the block's results

  __device__ explicit Place(Lanes lanes)
      : lane(lanes.neighbors ? threadIdx.x % lanes.count : threadIdx.x / lanes.slots()),
        slot(lanes.neighbors ? threadIdx.x / lanes.count : threadIdx.x % lanes.slots()) {}
};

/// Combines `mine` over the lanes of each result, as a tree; every lane gets the whole. All threads of the block call
/// it, with memory that the block shares.
template <class T, class Combine>
__device__ T combine_lanes(T (&shared)[kLaneThreads], T mine, Place place, std::uint32_t lanes, Combine combine) {
  T* const all = &shared[place.slot * lanes];
  __syncthreads();  // nobody reads what an earlier call left
  all[place.lane] = mine;
  for (std::uint32_t half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (place.lane < half) all[place.lane] = combine(all[place.lane], all[place.lane + half]);
  }
  __syncthreads();
  return all[0];
}

}  // namespace lamella::cuda
