#pragma once

#include <utility>

#include "ops/cpu/fused.h"
#include "ops/cpu/tile.h"
#include "ops/simd/vec.h"

// Complex numbers in vectors: real parts in one vector, imaginary parts in another.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

template <class X>
struct Number {
  X re;
  X im;
  friend Number operator+(Number a, Number b) { return {a.re + b.re, a.im + b.im}; }
  friend Number operator-(Number a, Number b) { return {a.re - b.re, a.im - b.im}; }
  friend Number operator*(X a, Number b) { return {a * b.re, a * b.im}; }
  friend Number operator*(Number a, Number b) {
    return {multiply_add(a.re, b.re, -(a.im * b.im)), multiply_add(a.re, b.im, a.im * b.re)};
  }
};
/// Splits Vec<T>::size interleaved complex numbers, the first half in `low`, into real and imaginary parts.
template <class T>
Number<simd::Vec<T>> parts_of(simd::Native<T> low, simd::Native<T> high) {
  using V = simd::Vec<T>;
  using Lanes = std::make_index_sequence<V::size>;
  return {V(every_second<0>(low, high, Lanes())), V(every_second<1>(low, high, Lanes()))};
}
/// Loads Vec<T>::size interleaved complex numbers and splits them into real and imaginary parts.
template <class T>
Number<simd::Vec<T>> load_pairs(const T* from) {
  using V = simd::Vec<T>;
  return parts_of<T>(V::load(from).native(), V::load(from + V::size).native());
}
template <class T>
void store_pairs(Number<simd::Vec<T>> x, T* to) {
  using V = simd::Vec<T>;
  using Lanes = std::make_index_sequence<V::size>;
  V(interleaved<0>(x.re.native(), x.im.native(), Lanes())).store(to);
  V(interleaved<V::size / 2>(x.re.native(), x.im.native(), Lanes())).store(to + V::size);
}
/// Stores one complex number.
template <class T>
void store_pairs(Number<T> x, T* to) {
  to[0] = x.re;
  to[1] = x.im;
}
}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
