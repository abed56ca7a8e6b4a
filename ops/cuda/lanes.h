#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

// The assignment of a block's threads to results: `count` threads (1 to 256), the lanes, work on one result together.

namespace lamella::cuda {

inline constexpr std::uint32_t kLaneThreads = 256;

struct Lanes {
  std::uint32_t count;  // a power of two
  /// True if neighboring threads are lanes of one result, because its elements are neighbors in memory; false if they
  /// work on neighboring results.
  bool neighbors;

  /// Number of results per block.
  __host__ __device__ std::uint32_t slots() const { return kLaneThreads / count; }
};

/// Returns the number of lanes for a reduction of `elements` elements: about four elements per lane.
inline std::uint32_t lanes_for(std::int64_t elements, std::uint32_t at_most = kLaneThreads) {
  if (elements > std::int64_t{4} * at_most) return at_most;
  return std::min(at_most, std::bit_ceil(static_cast<std::uint32_t>((elements + 3) / 4)));
}

/// A thread's position in its block.
struct Place {
  std::uint32_t lane;
  std::uint32_t slot;  // index of the result within the block
  bool neighbors;

  __device__ explicit Place(Lanes lanes)
      : lane(lanes.neighbors ? threadIdx.x % lanes.count : threadIdx.x / lanes.slots()),
        slot(lanes.neighbors ? threadIdx.x / lanes.count : threadIdx.x % lanes.slots()),
        neighbors(lanes.neighbors) {}

  /// Waits for the first `count` lanes of the same result, which all threads of the block do: a warp alone where the
  /// lanes are in one.
  __device__ void wait(std::uint32_t count) const {
    if (neighbors && count <= 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
};

/// Combines `mine` over the lanes of each result as a tree; every lane gets the total. All threads of the block must
/// call it; `shared` is shared memory.
template <class T, class Combine>
__device__ T combine_lanes(T (&shared)[kLaneThreads], T mine, Place place, std::uint32_t lanes, Combine combine) {
  T* const all = &shared[place.slot * lanes];
  place.wait(lanes);  // an earlier call's values have been read by now
  all[place.lane] = mine;
  for (std::uint32_t half = lanes / 2; half > 0; half /= 2) {
    place.wait(2 * half);
    if (place.lane < half) all[place.lane] = combine(all[place.lane], all[place.lane + half]);
  }
  place.wait(lanes);
  return all[0];
}

}  // namespace lamella::cuda
