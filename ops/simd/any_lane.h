#pragma once

#include <cstdint>
#include <cstring>

#include "ops/simd/intrinsics.h"
#include "ops/simd/native.h"

namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// True if a lane of a mask is set; the mask is a whole register of -1 and 0.
template <class M>
bool any_lane(M mask) {
#if LM_SIMD_BYTES == 64 && defined(__AVX512BW__)
  return _mm512_movepi8_mask(reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8(reinterpret_cast<__m256i>(mask)) != 0;
#elif defined(__x86_64__)
  return _mm_movemask_epi8(reinterpret_cast<__m128i>(mask)) != 0;
#elif defined(__aarch64__)
  return vmaxvq_u32(reinterpret_cast<uint32x4_t>(mask)) != 0;
#else
  const auto words = reinterpret_cast<Native<std::uint64_t>>(mask);
  return (words[0] | words[1]) != 0;
#endif
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
