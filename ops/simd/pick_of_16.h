#pragma once

#include "ops/simd/intrinsics.h"
#include "ops/simd/native.h"

#if defined(__AVX512F__) && LM_SIMD_BYTES == 64

/// Table lookup in registers, on x86-64-v4.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

/// Returns table[k % 16] for each lane k of `lanes`. The table is aligned to 64 bytes.
inline Native<float> pick_of_16(const float* table, __m512i lanes) {
  return _mm512_maskz_permutexvar_ps(0xffff, lanes, _mm512_load_ps(table));
}
inline Native<double> pick_of_16(const double* table, __m512i lanes) {
  return _mm512_permutex2var_pd(_mm512_load_pd(table), lanes, _mm512_load_pd(table + 8));
}

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd

#endif
