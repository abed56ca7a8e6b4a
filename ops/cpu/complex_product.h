#pragma once

#include <complex>

#include "ops/simd/isa.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Returns a b without the infinity checks of operator*, each product rounded separately. Computed on vectors of two:
/// in scalar code g++ 12 fuses products and sums inside a vectorized loop, even with -ffp-contract=off, but not in its
/// remainder, so that a result would depend on its position in the loop.
template <class T>
std::complex<T> complex_product(std::complex<T> a, std::complex<T> b) {
  using Pair [[gnu::vector_size(2 * sizeof(T))]] = T;
  const Pair sum =
      Pair{a.real(), a.real()} * Pair{b.real(), b.imag()} + Pair{a.imag(), a.imag()} * Pair{-b.imag(), b.real()};
  return {sum[0], sum[1]};
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
