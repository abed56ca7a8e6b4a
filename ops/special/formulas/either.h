#pragma once

#include "ops/simd/hd.h"
#include "ops/simd/isa.h"
#include "ops/simd/special.h"

// Formulas of special functions, written once for a register of the CPU (`X = Vec<double>`) and a CUDA thread
// (`Lane<double>`).

namespace lamella::special {
inline namespace LM_SIMD_ISA {

using simd::special::polynomial;

template <class X>
inline constexpr bool kSingle = sizeof(typename X::value_type) == 4;

/// Returns yes() where `mask` is true, else no(); each is computed only if some lane needs it.
template <class M, class Yes, class No>
LM_HD auto either(M mask, const Yes& yes, const No& no) {
  if constexpr (M::size == 1) {
    return any(mask) ? yes() : no();
  } else {
    if (!any(mask)) return no();
    if (!any(!mask)) return yes();
    return where(mask, yes(), no());
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::special
