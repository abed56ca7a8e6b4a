#pragma once

#include <cstdint>

namespace lamella::fft {

/// Returns the largest prime factor of n, or 1 for 1.
std::int64_t largest_prime(std::int64_t n);

/// Returns the smallest product of 2, 3 and 5 that is at least n.
std::int64_t smooth_length(std::int64_t n);

}  // namespace lamella::fft
