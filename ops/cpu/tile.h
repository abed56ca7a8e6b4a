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

/// Transposes the tiles of kRows rows and columns that lie side by side in kRows vectors, bit by bit of row and column.
template <int kBit = 1, int kRows, class V>
void transpose_beside(V (&rows)[kRows]) {
  if constexpr (kBit < kRows) {
    [&]<int... I>(std::integer_sequence<int, I...>) {
      constexpr int kLanes = sizeof...(I);
      for (int i = 0; i < kRows; ++i) {
        if (i & kBit) continue;
        const V a = rows[i];
        const V b = rows[i + kBit];
        rows[i] = __builtin_shufflevector(a, b, (I & kBit ? kLanes + I - kBit : I)...);
        rows[i + kBit] = __builtin_shufflevector(a, b, (I & kBit ? kLanes + I : I + kBit)...);
      }
    }(std::make_integer_sequence<int, sizeof(V) / sizeof(rows[0][0])>());
    transpose_beside<2 * kBit>(rows);
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
