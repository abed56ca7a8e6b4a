#pragma once

#include <complex>
#include <type_traits>

#include "ops/simd/convert.h"
#include "ops/simd/integer.h"

// Types in which device code sums elements.

namespace lamella::cuda {

/// A complex number without a constructor, which shared memory does not allow. Its layout is that of std::complex.
template <class T>
struct Parts {
  T real;
  T imaginary;

  __device__ friend Parts operator+(Parts a, Parts b) { return {a.real + b.real, a.imaginary + b.imaginary}; }
  __device__ friend Parts operator-(Parts a, Parts b) { return {a.real - b.real, a.imaginary - b.imaginary}; }
  __device__ friend Parts operator*(Parts a, Parts b) {
    return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
  }
};

/// The type in which elements of T are compared, and added where no wider one is asked for: floats of 16 bits as
/// float32.
template <class T>
struct WideOf : std::conditional<kIsHalf<T>, float, T> {};
template <class T>
struct WideOf<std::complex<T>> {
  using type = Parts<T>;
};
template <class T>
using Wide = typename WideOf<T>::type;

/// Returns x in the type of a sum.
template <class Sum, class T>
__device__ Sum widened(T x) {
  if constexpr (kIsComplex<T>) {
    return {x.real(), x.imag()};
  } else {
    return convert<Sum>(x);
  }
}

/// Returns a sum as an element.
template <class T, class Sum>
__device__ T rounded(Sum x) {
  if constexpr (kIsComplex<T>) {
    return T(x.real, x.imaginary);
  } else {
    return convert<T>(x);
  }
}

/// Returns a + b; integers wrap around, and the sum of bools is true if one of them is.
template <class Sum>
__device__ Sum plus(Sum a, Sum b) {
  if constexpr (std::is_same_v<Sum, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<Sum>) {
    return simd::wrapping_add(a, b);
  } else {
    return a + b;
  }
}

/// Returns a * b; integers wrap around, and the product of bools is true if both are.
template <class Product>
__device__ Product times(Product a, Product b) {
  if constexpr (std::is_same_v<Product, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<Product>) {
    return simd::wrapping_multiply(a, b);
  } else {
    return a * b;
  }
}

}  // namespace lamella::cuda
