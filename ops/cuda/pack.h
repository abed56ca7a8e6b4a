#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lamella::cuda {

/// The unsigned integer type, or vector of integers, of kBytes bytes that one instruction moves.
template <int kBytes>
using Word = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::conditional_t<kBytes == 8, uint2, uint4>>>>;

/// Calls f.operator()<W>() with the word type of `bytes` bytes: 1, 2, 4, 8 or 16.
template <class F>
void visit_word(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<Word<1>>();
    case 2:
      return f.template operator()<Word<2>>();
    case 4:
      return f.template operator()<Word<4>>();
    case 8:
      return f.template operator()<Word<8>>();
    default:
      return f.template operator()<Word<16>>();
  }
}

/// Moves `n` neighboring elements with one instruction; the address is aligned to their total size.
template <class E, int n>
__device__ void load_pack(const E* from, E* to) {
  using W = Word<static_cast<int>(sizeof(E)) * n>;
  const W word = *reinterpret_cast<const W*>(from);
  __builtin_memcpy(static_cast<void*>(to), &word, sizeof(W));
}
template <class E, int n>
__device__ void store_pack(const E* from, E* to) {
  using W = Word<static_cast<int>(sizeof(E)) * n>;
  W word;
  __builtin_memcpy(&word, static_cast<const void*>(from), sizeof(W));
  *reinterpret_cast<W*>(to) = word;
}

}  // namespace lamella::cuda
