#pragma once

#include <limits>
#include <type_traits>

#include "ops/simd/native.h"

namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// Returns the bits of the floating-point numbers after those with the bits `a`, in the direction of those with the
/// bits `b`: vectors of signed integers as wide as the numbers, none of them NaN. Sign and magnitude map to an integer
/// that increases with the number, to which one step is applied.
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
  // A step to zero keeps the sign of the number that it starts from.
  const I stepped = next == zero ? a & sign : bits;
  return to == from ? b : stepped;
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
