#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "ops/simd/vec.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

// Note [Large outputs]
// A store to a line that is not in a cache reads the line first and evicts another one. An output as large as the
// last-level cache does not stay there until somebody reads it. It is written with non-temporal stores, which saves the
// read, a third of the traffic of `relu`. The formula computes into a block, as for strided outputs, and the block is
// then stored, so that there is no second copy of the formula. An operand that is overwritten is in the caches already
// and is stored the usual way.
//
// Kernels of rows (softmax, layer_norm) read a row several times and write it once. For them the sizes of input and
// output together are compared with the cache, since a stored line evicts a line of the input.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// True if the machine has non-temporal stores; without them copying through a block gains nothing.
#ifdef __SSE2__
inline constexpr bool kStreams = true;
#else
inline constexpr bool kStreams = false;
#endif

/// Writes a block with non-temporal stores, except for partial cache lines at its ends. Call end_stream() after the
/// last block.
[[gnu::noinline]] inline void stream_block(const void* from, std::int64_t bytes, void* to) {
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
#ifdef __SSE2__
  constexpr std::int64_t kLine = 64;
  const auto begun = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target) % kLine);
  const std::int64_t first = std::min(bytes, (kLine - begun) % kLine);
  std::memcpy(target, source, static_cast<std::size_t>(first));
  bytes -= first;
  source += first;
  target += first;
  for (; bytes >= kLine; bytes -= kLine, source += kLine, target += kLine) {
#if LM_SIMD_BYTES == 64
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target), _mm512_loadu_si512(source));
#else
    for (int k = 0; k < kLine; k += 16) {
      const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + k));
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + k), part);
    }
#endif
  }
#endif
  std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

/// Orders all earlier stores of stream_block() before later stores.
inline void end_stream() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

/// True if rows of `bytes` bytes from `to` on consist of whole cache lines, as store_past_caches() requires.
inline bool in_whole_lines(const void* to, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(to) % 64 == 0 && bytes % 64 == 0;
}

/// Stores a vector with a non-temporal store; `to` is aligned to the vector's size. Call end_stream() after the last
/// store.
template <class T>
void store_past_caches(T* to, simd::Vec<T> v) {
#if LM_SIMD_BYTES == 64
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), std::bit_cast<__m512i>(v.native()));
#elif LM_SIMD_BYTES == 32
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), std::bit_cast<__m256i>(v.native()));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), std::bit_cast<__m128i>(v.native()));
#else
  v.store(to);
#endif
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
