#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ops/simd/isa.h"

#ifndef LM_SIMD_BYTES
#error "Vec<T> is for CPU kernels; a CUDA source uses Lane<T>"
#endif

/// The compiler's vector types, as wide as the registers of the instruction set.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// Number of bytes in a vector.
inline constexpr int kVectorBytes = LM_SIMD_BYTES;

template <class T, int kBytes>
struct NativeOf {
  using type [[gnu::vector_size(kBytes)]] = T;
};
template <int kBytes>
struct NativeOf<bool, kBytes> : NativeOf<std::uint8_t, kBytes> {};

/// The vector of as many `T` as fit; `bool` is stored as bytes of 0 and 1.
template <class T, int kBytes = kVectorBytes>
using Native = typename NativeOf<T, kBytes>::type;

template <std::size_t kSize>
struct SignedOf;
template <>
struct SignedOf<1> {
  using type = std::int8_t;
};
template <>
struct SignedOf<2> {
  using type = std::int16_t;
};
template <>
struct SignedOf<4> {
  using type = std::int32_t;
};
template <>
struct SignedOf<8> {
  using type = std::int64_t;
};

/// The signed integer as wide as `T`, the element of masks: -1 or 0 in each lane.
template <class T>
using LaneMaskInt = typename SignedOf<sizeof(T)>::type;

/// Broadcasts `value` to every lane. Subtracts zero, because adding it would lose the sign of -0.
template <class V, class T>
V splat(T value) {
  return value - V{};
}

/// Applies `f` to each lane; for functions without an instruction.
template <class V, class F>
V map_lanes(V a, F f) {
  for (std::size_t i = 0; i < sizeof(V) / sizeof(a[0]); ++i) a[i] = f(a[i]);
  return a;
}
template <class V, class F>
V map_lanes(V a, V b, F f) {
  for (std::size_t i = 0; i < sizeof(V) / sizeof(a[0]); ++i) a[i] = f(a[i], b[i]);
  return a;
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
