#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/cuda/held.h"
#include "ops/cuda/lanes.h"

// Mean and variance in one pass over the elements.

namespace lamella::cuda {

/// Mean and sum of squared distances to it of so many elements.
template <class T>
struct Moments {
  T mean;
  T squares;
  T count;

  /// Adds an element by Welford's recurrence (Note on a method for calculating corrected sums of squares and products,
  /// 1962).
  __device__ void add(T x) {
    const T distance = x - mean;
    count += 1;
    mean += distance / count;
    squares += distance * (x - mean);
  }
};

/// Joins the moments of two sets (Chan et al., Updating formulae and a pairwise algorithm for computing sample
/// variances, 1979).
template <class T>
__device__ Moments<T> joined(Moments<T> a, Moments<T> b) {
  const T count = a.count + b.count;
  if (count == 0) return a;
  const T distance = b.mean - a.mean;
  const T share = b.count / count;
  return {a.mean + distance * share, a.squares + b.squares + distance * distance * a.count * share, count};
}

/// Returns the moments of a thread's elements: those of each group in registers by their mean, without a division for
/// each element.
template <class T, int kHeld, class Load>
__device__ Moments<T> moments_of(const HeldElements<T, kHeld, Load>& elements) {
  const auto of_held = [](const HeldElements<T, kHeld, Load>& group) {
    T sum = 0;
    group.for_each_held([&](T x) { sum += x; });
    const T count = static_cast<T>(group.held());
    const T mean = group.held() > 0 ? sum / count : T(0);
    T squares = 0;
    group.for_each_held([&](T x) { squares += (x - mean) * (x - mean); });
    return Moments<T>{mean, squares, count};
  };
  Moments<T> all = of_held(elements);
  elements.for_each_group_of_others([&](const auto& group) { all = joined(all, of_held(group)); });
  return all;
}

/// Mean, variance and 1 / sqrt(variance + eps) of the elements that lanes work on together.
template <class T>
struct Spread {
  T mean;
  T variance;
  T rstd;

  /// True if the variance is beyond the range of T, or so small that it has lost bits.
  __device__ bool is_inexact(double eps) const {
    constexpr T kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    const T sum = variance + static_cast<T>(eps);
    return !(sum > kLeast && sum < std::numeric_limits<T>::infinity());
  }
};

/// Returns the largest power of two by which elements of the magnitude `largest` and eps may be multiplied so that
/// squares are within the range of T: 1 / largest, if eps allows.
template <class T>
__device__ T scale_of_squares(T largest, double eps) {
  if (!(largest > 0 && largest < std::numeric_limits<T>::infinity())) return T(1);
  constexpr int kMost = std::numeric_limits<T>::max_exponent - 1;
  const int by_eps = eps > 0 ? (kMost - 8 - std::ilogb(eps)) / 2 : kMost;
  const int by_largest = -std::ilogb(largest);
  return std::ldexp(T(1), min(min(by_largest, by_eps), kMost));
}

/// Measures count elements, multiplied by `scale`, that for_each(f) gives to f, those of this thread. Without
/// `centered` the mean is 0. All threads of the block must call it.
template <class T, class ForEach>
__device__ Spread<T> scaled_spread(Moments<T> (&shared)[kLaneThreads], Place place, std::uint32_t lanes,
                                   ForEach&& for_each, T count, double eps, T scale, bool centered) {
  Moments<T> mine{0, 0, 0};
  for_each([&](T x) {
    if (centered) return mine.add(x * scale);
    mine.count += 1;
    mine.squares += x * scale * (x * scale);
  });
  const Moments<T> all = combine_lanes(shared, mine, place, lanes, joined<T>);
  const T variance = all.squares / count;
  const auto scaled_eps = static_cast<T>(eps * static_cast<double>(scale) * static_cast<double>(scale));
  return {all.mean / scale, variance / scale / scale, scale / std::sqrt(variance + scaled_eps)};
}

/// Returns `spread`, measured again as scaled_spread() does, with the elements brought into the range of squares, if it
/// is inexact.
template <class T, class ForEach>
__device__ Spread<T> exact_spread(Spread<T> spread, Moments<T> (&shared)[kLaneThreads], Place place,
                                  std::uint32_t lanes, ForEach&& for_each, T count, double eps, bool centered) {
  if (!__syncthreads_or(spread.is_inexact(eps))) return spread;
  Moments<T> largest{0, 0, 0};
  for_each([&](T x) { largest.mean = max(largest.mean, std::abs(x)); });
  largest = combine_lanes(shared, largest, place, lanes,
                          [](Moments<T> a, Moments<T> b) { return Moments<T>{max(a.mean, b.mean), 0, 0}; });
  const T scale = scale_of_squares(largest.mean, eps);
  const Spread<T> scaled = scaled_spread(shared, place, lanes, for_each, count, eps, scale, centered);
  return spread.is_inexact(eps) ? scaled : spread;
}

/// Measures count elements that for_each(f) gives to f, those of this thread. All threads of the block must call it.
template <class T, class ForEach>
__device__ Spread<T> spread_of(Moments<T> (&shared)[kLaneThreads], Place place, std::uint32_t lanes, ForEach&& for_each,
                               T count, double eps) {
  const Spread<T> spread = scaled_spread(shared, place, lanes, for_each, count, eps, T(1), true);
  return exact_spread(spread, shared, place, lanes, for_each, count, eps, true);
}

}  // namespace lamella::cuda
