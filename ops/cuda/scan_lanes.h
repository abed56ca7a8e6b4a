#pragma once

#include <cstdint>

#include "ops/cuda/lanes.h"

namespace lamella::cuda {

template <class Part>
struct Scanned {
  Part before;
  Part all;
};

/// Combines the parts of the lanes in order: returns those before this lane's, and all of them. All threads of the
/// block must call it; `shared` is shared memory.
template <class Op, class Part>
__device__ Scanned<Part> scan_lanes(Part (&shared)[kLaneThreads], Part mine, Place place, std::uint32_t lanes) {
  Part* const all = &shared[place.slot * lanes];
  __syncthreads();  // an earlier call's values have been read by now
  all[place.lane] = mine;
  for (std::uint32_t distance = 1; distance < lanes; distance *= 2) {
    __syncthreads();
    const Part before = place.lane >= distance ? all[place.lane - distance] : Op::identity();
    __syncthreads();
    if (place.lane >= distance) all[place.lane] = Op::combine(before, all[place.lane]);
  }
  __syncthreads();
  return {place.lane > 0 ? all[place.lane - 1] : Op::identity(), all[lanes - 1]};
}

}  // namespace lamella::cuda
