#pragma once

#include <cstddef>
#include <utility>

#include "ops/simd/vec.h"

/// Reductions of the lanes of a vector to one number.
namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

template <int kBy, class V, std::size_t... I>
V rotated(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(I) + kBy) % static_cast<int>(sizeof...(I))...);
}

/// Reduces all lanes by f, as a tree.
template <class T, class F, int kWidth = simd::Vec<T>::size / 2>
T folded(simd::Vec<T> v, const F& f) {
  if constexpr (kWidth > 0) {
    const simd::Vec<T> other(rotated<kWidth>(v.native(), std::make_index_sequence<simd::Vec<T>::size>()));
    return folded<T, F, kWidth / 2>(f(v, other), f);
  } else {
    return v[0];
  }
}

template <class T>
T sum_lanes(simd::Vec<T> v) {
  return folded(v, [](simd::Vec<T> a, simd::Vec<T> b) { return a + b; });
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
