#pragma once

#include <limits>
#include <type_traits>

#include "ops/simd/native.h"

namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// The bits of the floating numbers after those with the bits `a`, in the direction of those with the bits `b`: vectors
/// of signed integers as wide as the numbers, none of them NaN. Sign and magnitude become an integer that grows with
/// the number, which is one step further on.
template <class I>
I next_bits(I a, I b) {
  using Element = std::remove_cvref_t<decltype(a[0])>;
  const I zero = splat<I>(Element{0});
  const I one = splat<I>(Element{1});
  const I magnitude = splat<I>(std::numeric_limits<Element>::max());
  const I sign = splat<I>(std::numeric_limits<Element>::min());
  const auto ordered = [&](I bits) { return bits < zero ? zero - (bits & magnitude) : bits; };
  const I from = ordered(a);
  const I to = ordered(b);
  const I next = to > from ? from + one : from - one;
  const I bits = next < zero ? (zero - next) | sign : next;
  // A zero that is stepped to has the sign of what it is stepped to from.
  const I stepped = next == zero ? a & sign : bits;
  return to == from ? b : stepped;
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
