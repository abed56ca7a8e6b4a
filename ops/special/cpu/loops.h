#pragma once

#include <algorithm>

#include "ops/cpu/tables/special.h"
#include "ops/simd/vec.h"
#include "ops/simd/vec_functions.h"

/// Loops of the table's special functions.
namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

using simd::Vec;

/// Computes F::at(x) for n numbers.
template <class F, class T>
void each(const T* x, T* y, std::int64_t n) {
  constexpr int kLanes = Vec<T>::size;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) F::at(Vec<T>::load(x + i)).store(y + i);
  const int rest = static_cast<int>(n - i);
  if (rest > 0) F::at(Vec<T>::load_partial(x + i, rest, 1)).store_partial(y + i, rest);
}

/// Computes F::at(x) for n floats in double, which is cheaper than maintaining a second set of formulas.
template <class F>
void each_widened(const float* x, float* y, std::int64_t n) {
  constexpr std::int64_t kBlock = 256;
  double wide[kBlock];
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t count = std::min(kBlock, n - i);
    for (std::int64_t k = 0; k < count; ++k) wide[k] = x[i + k];
    each<F>(wide, wide, count);
    for (std::int64_t k = 0; k < count; ++k) y[i + k] = static_cast<float>(wide[k]);
  }
}

template <class F>
constexpr SpecialFunction kInDouble = {each_widened<F>, each<F, double>};
template <class F>
constexpr SpecialFunction kInBoth = {each<F, float>, each<F, double>};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
