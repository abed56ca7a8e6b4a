#pragma once

#include <cstdint>

#include "engine/core/small_vector.h"

// How transforms are cut for the shared memory of blocks.

namespace lamella::cuda {

/// Largest prime that a pass transforms by itself; lengths with larger ones are convolutions.
inline constexpr std::int64_t kLargestFftPrime = 13;
inline constexpr std::size_t kMostFftLevels = 4;
/// Most passes of a level, which has at most 2^11 numbers.
inline constexpr std::size_t kMostFftPasses = 11;

using FftFactors = SmallVector<std::int64_t, kMostFftPasses>;

/// Returns the factors of the length whose transforms follow one another, each at most `most`: one factor if the length
/// itself is, and otherwise few that are close to each other. The length has prime factors up to kLargestFftPrime.
FftFactors fft_levels(std::int64_t length, std::int64_t most);

/// Returns the radices of the passes for a level: 8 for powers of two, with the rest as 4 or 2, and odd primes.
FftFactors fft_radices(std::int64_t factor);

}  // namespace lamella::cuda
