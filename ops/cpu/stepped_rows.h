#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/simd/native.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

namespace detail {

/// The unsigned integer of kSize bytes; uint64_t for 16 bytes.
template <std::int64_t kSize>
using WordOf = std::conditional_t<
    kSize == 1, std::uint8_t,
    std::conditional_t<kSize == 2, std::uint16_t, std::conditional_t<kSize == 4, std::uint32_t, std::uint64_t>>>;

}  // namespace detail

/// Copies every second element to a contiguous row, a register of the result at a time. Only the size of T matters.
template <class T>
void copy_every_second(char* to, const char* from, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  std::int64_t j = 0;
  if constexpr (kSize <= 8) {
    constexpr int kLanes = simd::kVectorBytes / static_cast<int>(kSize);
    using V = simd::Native<detail::WordOf<kSize>>;
    // Excludes the last element: nothing after it may be read.
    for (; j + kLanes < n; j += kLanes) {
      V a, b;
      std::memcpy(&a, from + 2 * j * kSize, sizeof a);
      std::memcpy(&b, from + (2 * j + kLanes) * kSize, sizeof b);
      const V even = [&]<int... I>(std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(a, b, (2 * I)...);
      }(std::make_integer_sequence<int, kLanes>());
      std::memcpy(to + j * kSize, &even, sizeof even);
    }
  }
  for (; j < n; ++j) std::memcpy(to + j * kSize, from + 2 * j * kSize, kSize);
}

/// Copies n elements in reverse order, starting at `from` and going down, a register at a time. Only the size of T
/// matters.
template <class T>
void copy_backwards(char* to, const char* from, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kLanes = simd::kVectorBytes / kSize;
  using Word = detail::WordOf<kSize>;
  constexpr int kParts = static_cast<int>(kSize) / static_cast<int>(sizeof(Word));
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    simd::Native<Word> words;
    std::memcpy(&words, from - (j + kLanes - 1) * kSize, sizeof words);
    words = [&]<int... I>(std::integer_sequence<int, I...>) {
      return __builtin_shufflevector(words, words, (sizeof...(I) - kParts - I / kParts * kParts + I % kParts)...);
    }(std::make_integer_sequence<int, simd::kVectorBytes / static_cast<int>(sizeof(Word))>());
    std::memcpy(to + j * kSize, &words, sizeof words);
  }
  for (; j < n; ++j) std::memcpy(to + j * kSize, from - j * kSize, kSize);
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
