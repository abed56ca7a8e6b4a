#pragma once

#include <cstddef>
#include <utility>

#include "ops/simd/native.h"

// Shuffles of whole vectors.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Lanes of a and b in turn, from lane kFirst of each on.
template <int kFirst, class V, std::size_t... I>
V interleaved(V a, V b, std::index_sequence<I...>) {
  constexpr int kLanes = sizeof...(I);
  return __builtin_shufflevector(a, b, (kFirst + static_cast<int>(I) / 2 + (I % 2 ? kLanes : 0))...);
}

/// Every second lane of a and b behind one another, from lane kFirst of a on.
template <int kFirst, class V, std::size_t... I>
V every_second(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (kFirst + 2 * static_cast<int>(I))...);
}

/// Transposes a tile of kLanes rows and columns: each step of interleaving the first half of the rows with the second
/// rotates the bits of (row, column) by one.
template <int kLanes, class V>
void transpose(V (&rows)[kLanes]) {
  using Lanes = std::make_index_sequence<kLanes>;
  for (int step = 1; step < kLanes; step *= 2) {
    V mixed[kLanes];
    for (int i = 0; i < kLanes / 2; ++i) {
      mixed[2 * i] = interleaved<0>(rows[i], rows[i + kLanes / 2], Lanes());
      mixed[2 * i + 1] = interleaved<kLanes / 2>(rows[i], rows[i + kLanes / 2], Lanes());
    }
    for (int i = 0; i < kLanes; ++i) rows[i] = mixed[i];
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
