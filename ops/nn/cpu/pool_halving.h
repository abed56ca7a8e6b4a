#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ops/cpu/tables/pool.h"
#include "ops/simd/vec.h"

// Maxima of 2 x 2 squares side by side, by which most convolutional networks halve their planes. Rows of such planes
// are short: the general kernel's preparations for each took longer than the comparisons.

namespace lamella::cpu {

/// True if the windows are 2 x 2 squares side by side, from the first element on.
inline bool are_squares(const PoolArgs& args) {
  const auto& [depth, height, width] = args.axes;
  const auto in_pairs = [](const PoolAxis& axis) {
    if (axis.step != 1) return false;
    for (std::int64_t o = 0; o < axis.out; ++o) {
      if (axis.begin[o] != 2 * o || axis.end[o] != 2 * o + 2) return false;
    }
    return true;
  };
  constexpr std::int64_t kMostColumns = std::int64_t{1} << 22;  // positions within a square are exact as floats
  return width.in < kMostColumns && depth.in == 1 && depth.out == 1 && depth.begin[0] == 0 && depth.end[0] == 1 &&
         in_pairs(height) && in_pairs(width);
}

/// The largest elements of squares so far, and how far each is from the first element of its square.
template <class T>
struct LargestOfSquares {
  using V = simd::Vec<T>;
  V found;
  V distance{T(0)};

  /// Takes the next element of each square.
  void take(V value, T at) {
    const auto takes = (value > found) | ((value != value) & (found == found));
    found = where(takes, value, found);
    distance = where(takes, V(at), distance);
  }
};

/// The elements of as many squares as there are lanes, by their places: those of the upper rows, then those of the
/// lower.
template <class T>
struct Squares {
  using V = simd::Vec<T>;
  V parts[4];
};

/// Calls f(offset in the results, offset in the plane, number of squares, squares) for all squares of the plane x, of
/// which `left` elements may be read. Lanes beyond the number hold other numbers.
template <class T, class F>
void for_each_squares(const PoolArgs& args, const T* x, std::int64_t left, F&& f) {
  using V = simd::Vec<T>;
  constexpr std::int64_t kLanes = V::size;
  const std::int64_t across = args.axes[2].in;
  const std::int64_t count = args.axes[2].out;
  const auto squares_of = [](const T* top, const T* bottom) {
    const auto separated = [](const T* from, V& even, V& odd) {
      const auto low = V::load(from).native();
      const auto high = V::load(from + kLanes).native();
      [&]<int... I>(std::integer_sequence<int, I...>) {
        even = V(__builtin_shufflevector(low, high, (2 * I)...));
        odd = V(__builtin_shufflevector(low, high, (2 * I + 1)...));
      }(std::make_integer_sequence<int, static_cast<int>(kLanes)>());
    };
    Squares<T> squares;
    separated(top, squares.parts[0], squares.parts[1]);
    separated(bottom, squares.parts[2], squares.parts[3]);
    return squares;
  };
  T last[4 * kLanes] = {};  // a copy of the last squares, with room behind them
  for (std::int64_t h = 0; h < args.axes[1].out; ++h) {
    for (std::int64_t o = 0; o < count; o += kLanes) {
      const std::int64_t n = std::min(kLanes, count - o);
      const std::int64_t origin = 2 * h * across + 2 * o;
      const T* top = x + origin;
      const T* bottom = top + across;
      if (origin + across + 2 * kLanes > left) {
        std::copy_n(top, 2 * n, last);
        std::copy_n(bottom, 2 * n, last + 2 * kLanes);
        top = last;
        bottom = last + 2 * kLanes;
      }
      f(h * count + o, origin, n, squares_of(top, bottom));
    }
  }
}

/// Computes the largest elements of a plane x of squares, and unless `places` is null the position in x of each, the
/// first one of several. `left` elements from x on may be read.
template <class T>
void halve_by_maxima(const PoolArgs& args, const T* x, std::int64_t left, T* y, std::int64_t* places) {
  using V = simd::Vec<T>;
  const T below = static_cast<T>(args.axes[2].in);
  alignas(V) T distances[V::size];
  for_each_squares(args, x, left, [&](std::int64_t at, std::int64_t origin, std::int64_t n, const Squares<T>& squares) {
    LargestOfSquares<T> largest{squares.parts[0]};
    largest.take(squares.parts[1], T(1));
    largest.take(squares.parts[2], below);
    largest.take(squares.parts[3], below + T(1));
    largest.found.store_partial(y + at, static_cast<int>(n));
    if (!places) return;
    largest.distance.store(distances);
    for (std::int64_t k = 0; k < n; ++k) places[at + k] = origin + 2 * k + static_cast<std::int64_t>(distances[k]);
  });
}

/// Returns the factor of the sums of squares, which is one for all.
inline double scale_of_squares(const PoolArgs& args) {
  return args.axes[0].scale[0] * args.axes[1].scale[0] * args.axes[2].scale[0];
}

/// Computes the scaled sums of a plane x of squares. `left` elements from x on may be read.
template <class T>
void halve_by_sums(const PoolArgs& args, const T* x, std::int64_t left, T* y) {
  const simd::Vec<T> scale(static_cast<T>(scale_of_squares(args)));
  for_each_squares(args, x, left, [&](std::int64_t at, std::int64_t, std::int64_t n, const Squares<T>& squares) {
    const auto& parts = squares.parts;
    (((parts[0] + parts[2]) + (parts[1] + parts[3])) * scale).store_partial(y + at, static_cast<int>(n));
  });
}

/// Computes the transpose of halve_by_sums(): writes all elements of the plane dx.
template <class T>
void spread_over_squares(const PoolArgs& args, const T* dy, T* dx) {
  using V = simd::Vec<T>;
  constexpr std::int64_t kLanes = V::size;
  const auto& [depth, height, width] = args.axes;
  const V scale(static_cast<T>(scale_of_squares(args)));
  for (std::int64_t h = 0; h < height.out; ++h) {
    T* const top = dx + 2 * h * width.in;
    T* const bottom = top + width.in;
    for (std::int64_t o = 0; o < width.out; o += kLanes) {
      const std::int64_t n = std::min(kLanes, width.out - o);
      const auto value = (V::load_partial(dy + h * width.out + o, static_cast<int>(n), T(0)) * scale).native();
      const auto write = [&](std::int64_t first, V twice) {
        const std::int64_t elements = std::clamp<std::int64_t>(2 * n - first, 0, kLanes);
        twice.store_partial(top + 2 * o + first, static_cast<int>(elements));
        twice.store_partial(bottom + 2 * o + first, static_cast<int>(elements));
      };
      [&]<int... I>(std::integer_sequence<int, I...>) {
        write(0, V(__builtin_shufflevector(value, value, (I / 2)...)));
        write(kLanes, V(__builtin_shufflevector(value, value, ((I + static_cast<int>(kLanes)) / 2)...)));
      }(std::make_integer_sequence<int, static_cast<int>(kLanes)>());
    }
    std::fill(top + 2 * width.out, bottom, T(0));
    std::fill(bottom + 2 * width.out, bottom + width.in, T(0));
  }
  std::fill(dx + 2 * height.out * width.in, dx + height.in * width.in, T(0));
}

}  // namespace lamella::cpu
