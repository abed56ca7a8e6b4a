#pragma once

#include <cstdint>

#include "ops/cuda/accumulate.h"

// Transforms of a few numbers in a thread's registers.

namespace lamella::cuda {

/// Returns -i x.
template <class T>
__device__ Parts<T> turned_back(Parts<T> x) {
  return {x.imaginary, -x.real};
}
template <class T>
__device__ Parts<T> scaled(Parts<T> x, T by) {
  return {x.real * by, x.imaginary * by};
}
template <class T>
__device__ Parts<T> conjugated(Parts<T> x) {
  return {x.real, -x.imaginary};
}

/// Replaces x by its transform. `roots` has exp(-2 pi i k / kRadix) at k * step; powers of two have no use for it.
template <int kRadix, class T>
__device__ void transform_few(Parts<T> (&x)[kRadix], const Parts<T>* roots, std::int32_t step) {
  if constexpr (kRadix == 2) {
    const Parts<T> difference = x[0] - x[1];
    x[0] = x[0] + x[1];
    x[1] = difference;
  } else if constexpr (kRadix == 4) {
    const Parts<T> a = x[0] + x[2];
    const Parts<T> b = x[0] - x[2];
    const Parts<T> c = x[1] + x[3];
    const Parts<T> d = turned_back(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else if constexpr (kRadix == 8) {
    // The even and the odd numbers, and the eighths of a turn between them.
    Parts<T> even[4] = {x[0], x[2], x[4], x[6]};
    Parts<T> odd[4] = {x[1], x[3], x[5], x[7]};
    transform_few(even, roots, step);
    transform_few(odd, roots, step);
    const T half = T(0.70710678118654752440);  // sqrt(1/2)
    odd[1] = scaled(odd[1] + turned_back(odd[1]), half);
    odd[2] = turned_back(odd[2]);
    odd[3] = scaled(turned_back(odd[3]) - odd[3], half);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      x[k] = even[k] + odd[k];
      x[k + 4] = even[k] - odd[k];
    }
  } else {
    // Numbers j and kRadix - j together: their sum has the cosines, their difference the sines.
    constexpr int kHalf = kRadix / 2;
    const Parts<T> first = x[0];
    Parts<T> sums[kHalf];
    Parts<T> differences[kHalf];
#pragma unroll
    for (int j = 0; j < kHalf; ++j) {
      sums[j] = x[j + 1] + x[kRadix - 1 - j];
      differences[j] = turned_back(x[j + 1] - x[kRadix - 1 - j]);
      x[0] = x[0] + sums[j];
    }
#pragma unroll
    for (int k = 1; k <= kHalf; ++k) {
      Parts<T> even = first;
      Parts<T> odd = {0, 0};
#pragma unroll
      for (int j = 1; j <= kHalf; ++j) {
        const Parts<T> root = roots[j * k % kRadix * step];
        even = even + scaled(sums[j - 1], root.real);
        odd = odd - scaled(differences[j - 1], root.imaginary);
      }
      x[k] = even + odd;
      x[kRadix - k] = even - odd;
    }
  }
}

}  // namespace lamella::cuda
