#pragma once

#include "ops/simd/native_math.h"

/// The error function, which gelu spends its time in.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

inline F64 error_function(F64 a) { return erf(a); }

#if LM_SIMD_BYTES == 64

/// erf(k / 4 + u / 4) for |u| <= 1/2 as powers of u, of which row i has those of u^i for all k: interpolated at
/// Chebyshev's points, in 50 digits. For k = 0 only odd powers, as its relative error counts.
inline constexpr int kErfDegree = 6;
alignas(64) inline constexpr float kErf[kErfDegree + 1][16] = {
    {0.0f, 0.276326388f, 0.520499885f, 0.711155653f, 0.842700779f, 0.92290014f, 0.966105163f, 0.986671686f,
     0.995322287f, 0.998537302f, 0.999593019f, 0.999899387f, 0.999977887f, 0.999995708f, 0.999999285f, 0.999999881f},
    {0.282094777f, 0.265003532f, 0.219695643f, 0.160732776f, 0.10377688f, 0.0591302812f, 0.0297325719f, 0.013193748f,
     0.00516674621f, 0.00178557972f, 0.000544571085f, 0.000146569379f, 3.48133035e-05f, 7.29727435e-06f,
     1.34986283e-06f, 2.20359766e-07f},
    {0.0f, -0.0165627208f, -0.0274619553f, -0.0301373936f, -0.025944218f, -0.0184782129f, -0.0111497147f,
     -0.00577226514f, -0.00258337311f, -0.00100438856f, -0.000340356899f, -0.000100766403f, -2.61099503e-05f,
     -5.92902279e-06f, -1.18112553e-06f, -2.06585966e-07f},
    {-0.00587691739f, -0.00483073993f, -0.00228851405f, 0.000418513722f, 0.0021619678f, 0.00261773472f, 0.00216801581f,
     0.00140872772f, 0.000753495144f, 0.000339448423f, 0.000130468354f, 4.31289227e-05f, 1.23283926e-05f,
     3.05895719e-06f, 6.60671788e-07f, 1.24470404e-07f},
    {0.0f, 0.000496010936f, 0.000715146714f, 0.000588619034f, 0.000270256249f, -2.40554346e-05f, -0.000174212313f,
     -0.000187899859f, -0.000134552014f, -7.45452999e-05f, -3.36813719e-05f, -1.27269332e-05f, -4.07956713e-06f,
     -1.11934332e-06f, -2.6449402e-07f, -5.40580025e-08f},
    {0.000109580455f, 7.77466048e-05f, 7.2947596e-06f, -5.15046413e-05f, -6.71593734e-05f, -4.59779512e-05f,
     -1.46436214e-05f, 6.30778322e-06f, 1.2692064e-05f, 1.03897946e-05f, 5.98832639e-06f, 2.70843293e-06f,
     1.00315845e-06f, 3.10995347e-07f, 8.17535977e-08f, 1.8378195e-08f},
    {0.0f, -9.83118298e-06f, -1.21503617e-05f, -6.54528094e-06f, 1.09432051e-06f, 5.16257342e-06f, 4.70251916e-06f,
     2.19305957e-06f, 1.22712592e-07f, -7.02400769e-07f, -6.81474717e-07f, -4.05207999e-07f, -1.81083522e-07f,
     -6.48833733e-08f, -1.92098373e-08f, -4.77988271e-09f},
};
/// From here on it is 1, to a float.
inline constexpr float kErfEnd = 3.875f;

/// Good to 2.3 ulp: the powers for each lane are picked from registers by k.
inline F32 error_function(F32 a) {
  constexpr float kShift = 0x1.8p23f;  // added to a small number, its last bits are those of the nearest whole one
  const F32 magnitude = _mm512_abs_ps(a);
  const F32 shifted = fused(magnitude, splat<F32>(4.0f), splat<F32>(kShift));
  const F32 u = fused(magnitude, splat<F32>(4.0f), splat<F32>(kShift) - shifted);
  const auto k = reinterpret_cast<__m512i>(shifted);
  const auto power = [k](int i) { return _mm512_maskz_permutexvar_ps(0xffff, k, _mm512_load_ps(kErf[i])); };
  F32 p = power(kErfDegree);
  for (int i = kErfDegree - 1; i >= 0; --i) p = fused(p, u, power(i));
  const __mmask16 ended = _mm512_cmp_ps_mask(magnitude, splat<F32>(kErfEnd), _CMP_GE_OQ);
  p = _mm512_mask_mov_ps(p, ended, splat<F32>(1.0f));
  return copysign(p, a);
}

#else
inline F32 error_function(F32 a) { return erf(a); }
#endif

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
