#pragma once

#include <complex>

#include "ops/simd/isa.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// a b, without the look for infinities of operator*, and each product rounded by itself. As vectors of two: of the
/// products and sums of numbers g++ 12 makes fused ones where it vectorizes a loop, -ffp-contract=off or not, and
/// others behind it, so that a result would depend on where the loop ends.
template <class T>
std::complex<T> complex_product(std::complex<T> a, std::complex<T> b) {
  using Pair [[gnu::vector_size(2 * sizeof(T))]] = T;
  const Pair sum =
      Pair{a.real(), a.real()} * Pair{b.real(), b.imag()} + Pair{a.imag(), a.imag()} * Pair{-b.imag(), b.real()};
  return {sum[0], sum[1]};
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
