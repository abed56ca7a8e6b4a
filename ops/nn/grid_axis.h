#pragma once

#include "ops/cpu/tables/grid_sample.h"
#include "ops/simd/hd.h"

// The formulas of grid_sample along one axis of the images. V is a vector of coordinates of the grid, or a thread's
// single one.

namespace lamella::sampling {

using cpu::GridOutside;

/// A number and its derivative by the grid's coordinate.
template <class V>
struct Slope {
  V value;
  V slope;
};

/// An axis of the image, and how coordinates on it are interpreted.
template <class V>
struct Axis {
  V size;
  GridOutside outside;
  bool align_corners;

  LM_HD V last() const { return size - 1; }

  /// Converts coordinates between -1 and 1 to units of elements.
  LM_HD Slope<V> in_elements(V at) const {
    if (align_corners) return {(at + 1) * (last() / 2), last() / 2};
    return {((at + 1) * size - 1) / 2, size / 2};
  }

  /// Moves coordinates into the range of elements, unless the padding is 0.
  LM_HD Slope<V> brought_in(Slope<V> at) const {
    if (outside == GridOutside::Zeros) return at;
    if (outside == GridOutside::Reflection) at = reflected(at);
    const auto before = at.value <= 0;
    const auto behind = at.value >= last();
    return {where(before, 0, where(behind, last(), at.value)), where(before | behind, 0, at.slope)};
  }

  LM_HD auto holds(V whole) const { return (whole >= 0) & (whole <= last()); }
  /// Clamps whole numbers to the range of elements.
  LM_HD V element(V whole) const { return where(whole >= last(), last(), where(whole > 0, whole, 0)); }

 private:
  LM_HD Slope<V> reflected(Slope<V> at) const {
    const V low = align_corners ? V(0) : V(-0.5);
    const V span = align_corners ? last() : size;
    const V apart = abs(at.value - low);
    const V turns = floor(apart / span);
    const V rest = apart - turns * span;
    const V slope = where(at.value > low, at.slope, where(at.value < low, -at.slope, 0));
    const auto even = turns == 2 * floor(turns / 2);
    // A single element is its own reflection.
    const auto single = span == 0;
    return {where(single, 0 * at.value, where(even, rest, span - rest) + low),
            where(single, 0, where(even, slope, -slope))};
  }
};

/// The neighbors of coordinates along one axis. Their elements lie in a range of kCount.
template <class V, int kCount>
struct Neighbors {
  V element[kCount];
  Slope<V> weight[kCount];  // 0 outside of the image
};

template <int kCount, class V>
LM_HD Neighbors<V, kCount> neighbors_of(V given, const Axis<V>& axis) {
  Neighbors<V, kCount> result;
  const auto set = [&](int k, V whole, Slope<V> weight) {
    const auto held = axis.holds(whole);
    result.element[k] = axis.element(whole);
    result.weight[k] = {where(held, weight.value, 0), where(held, weight.slope, 0)};
  };
  const Slope<V> plain = axis.in_elements(given);
  if constexpr (kCount == 1) {
    set(0, round(axis.brought_in(plain).value), {1, 0});
  } else if constexpr (kCount == 2) {
    const Slope<V> at = axis.brought_in(plain);
    const V left = floor(at.value);
    const V share = at.value - left;
    set(0, left, {1 - share, -at.slope});
    set(1, left + 1, {share, at.slope});
  } else {
    // R. Keys, "Cubic convolution interpolation for digital image processing", 1981, with the usual parameter a.
    constexpr typename V::value_type kA = -0.75;
    const V left = floor(plain.value);
    const V t = plain.value - left;
    const auto near = [](V d, V slope) {
      return Slope<V>{((kA + 2) * d - (kA + 3)) * d * d + 1, (3 * (kA + 2) * d - 2 * (kA + 3)) * d * slope};
    };
    const auto far = [](V d, V slope) {
      return Slope<V>{((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA, ((3 * kA * d - 10 * kA) * d + 8 * kA) * slope};
    };
    const Slope<V> weights[] = {far(t + 1, plain.slope), near(t, plain.slope), near(1 - t, -plain.slope),
                                far(2 - t, -plain.slope)};
    // Neighbors outside of the image are reflected or clamped one by one.
    for (int k = 0; k < 4; ++k) set(k, round(axis.brought_in({left + (k - 1), 0}).value), weights[k]);
  }
  return result;
}

/// A weight of 0 gives 0, even for an infinite element.
template <class V>
LM_HD V weighed(V weight, V x) {
  return where(weight == 0, 0, weight * x);
}

}  // namespace lamella::sampling
