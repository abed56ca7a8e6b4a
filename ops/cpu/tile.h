#pragma once

#include <cstddef>
#include <utility>

#include "ops/simd/native.h"

// Shuffles of whole vectors.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Interleaves elements of a and b, from element kFirst of each on. An element is kParts lanes.
template <int kFirst, int kParts = 1, class V, std::size_t... I>
V interleaved(V a, V b, std::index_sequence<I...>) {
  constexpr int kLanes = sizeof...(I);
  constexpr auto lane = [](int i) {
    const int element = i / kParts;
    return (kFirst + element / 2) * kParts + i % kParts + (element % 2 ? kLanes : 0);
  };
  return __builtin_shufflevector(a, b, lane(static_cast<int>(I))...);
}

/// Returns every second lane of the concatenation of a and b, from lane kFirst of a on.
template <int kFirst, class V, std::size_t... I>
V every_second(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (kFirst + 2 * static_cast<int>(I))...);
}

/// Transposes a tile of kSize rows and columns of elements of kParts lanes each. Each step interleaves the first half
/// of the rows with the second half, which rotates the bits of (row, column) by one.
template <int kParts = 1, int kSize, class V>
void transpose(V (&rows)[kSize]) {
  using Lanes = std::make_index_sequence<kSize * kParts>;
  for (int step = 1; step < kSize; step *= 2) {
    V mixed[kSize];
    for (int i = 0; i < kSize / 2; ++i) {
      mixed[2 * i] = interleaved<0, kParts>(rows[i], rows[i + kSize / 2], Lanes());
      mixed[2 * i + 1] = interleaved<kSize / 2, kParts>(rows[i], rows[i + kSize / 2], Lanes());
    }
    for (int i = 0; i < kSize; ++i) rows[i] = mixed[i];
  }
}

/// Transposes tiles of kRows rows and columns that lie side by side in kRows vectors, exchanging one bit of row and
/// column at a time.
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
