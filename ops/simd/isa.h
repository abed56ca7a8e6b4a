#pragma once

// The instruction set that this translation unit is compiled for, taken from the compiler's own macros.
//
// Everything in ops/simd is in an inline namespace of that name: a function compiled with AVX-512 never has the symbol
// of one compiled with SSE, so the linker cannot keep the wrong one.
//
// LM_SIMD_BYTES is the size of a register; LM_SIMD_FUSED is defined if a product and a sum are one instruction.
#if defined(__CUDACC__)
#define LM_SIMD_ISA cuda
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define LM_SIMD_ISA v4
#define LM_SIMD_BYTES 64
#define LM_SIMD_FUSED
#elif defined(__AVX2__) && defined(__FMA__)
#define LM_SIMD_ISA v3
#define LM_SIMD_BYTES 32
#define LM_SIMD_FUSED
#elif defined(__SSE4_1__)
#define LM_SIMD_ISA v2
#define LM_SIMD_BYTES 16
#elif defined(__x86_64__)
#define LM_SIMD_ISA v1
#define LM_SIMD_BYTES 16
#elif defined(__aarch64__)
#define LM_SIMD_ISA neon
#define LM_SIMD_BYTES 16
#define LM_SIMD_FUSED
#else
#define LM_SIMD_ISA portable
#define LM_SIMD_BYTES 16
#endif
