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
// A store to a line that is not in a cache reads the line first, and puts another one out. An output that is as large
// as the last cache does not stay there until somebody reads it: it is written past the caches, which saves the read, a
// third of the traffic of `relu`. The formula computes into a block, as for strided outputs, and the block is moved: so
// there is no second copy of the formula. An operand that is overwritten is in the caches already, and goes the usual
// way.
//
// Kernels of rows (softmax, layer_norm) read a row several times and write it once: there the input and the output
// together are measured against the cache, since what a stored line puts out is the input.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Whether there is a store past the caches; without one a block would be moved for nothing.
#ifdef __SSE2__
inline constexpr bool kStreams = true;
#else
inline constexpr bool kStreams = false;
#endif

/// Writes a block past the caches, but for what are parts of cache lines; end_stream() comes after the last.
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

/// Orders the stores of stream_block() before all that follow.
inline void end_stream() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

/// Whether rows of `bytes` from `to` on are made of whole cache lines, as store_past_caches() needs them.
inline bool in_whole_lines(const void* to, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(to) % 64 == 0 && bytes % 64 == 0;
}

/// Stores a vector past the caches, at a multiple of its size; end_stream() comes after the last.
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
