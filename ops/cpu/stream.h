#pragma once

#include <cstdint>
#include <cstring>

#include "ops/simd/isa.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

// Note [Streams]
// A store reads the line that it is going to replace, and throws another one out of the cache. For results that are too
// large to be there when they are read next, that is a third to a half of all traffic with the memory. So they are
// computed in blocks in the first level cache, which then go past the others: with the same formula, and nothing but
// a copy of the block more.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Whether `to` can take whole vectors.
inline bool is_aligned(const void* to) { return reinterpret_cast<std::uintptr_t>(to) % LM_SIMD_BYTES == 0; }

/// Copies an aligned block to an aligned place, past the caches. Others may read it there after stream_end().
inline void stream(const void* block, void* to, std::int64_t bytes) {
#ifdef __x86_64__
#if LM_SIMD_BYTES == 64
  using Vector = __m512i;
  const auto store = [](Vector* at, Vector value) { _mm512_stream_si512(at, value); };
#elif LM_SIMD_BYTES == 32
  using Vector = __m256i;
  const auto store = [](Vector* at, Vector value) { _mm256_stream_si256(at, value); };
#else
  using Vector = __m128i;
  const auto store = [](Vector* at, Vector value) { _mm_stream_si128(at, value); };
#endif
  const std::int64_t vectors = bytes / LM_SIMD_BYTES;
  const auto* const from = static_cast<const Vector*>(block);
  auto* const at = static_cast<Vector*>(to);
  for (std::int64_t i = 0; i < vectors; ++i) store(at + i, from[i]);
  const std::int64_t done = vectors * LM_SIMD_BYTES;
  std::memcpy(static_cast<char*>(to) + done, static_cast<const char*>(block) + done,
              static_cast<std::size_t>(bytes - done));
#else
  std::memcpy(to, block, static_cast<std::size_t>(bytes));
#endif
}

/// These stores are not in order with others; this makes them so.
inline void stream_end() {
#ifdef __x86_64__
  _mm_sfence();
#endif
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
