#pragma once

#include <cmath>
#include <cstdint>

#include "engine/core/dtype.h"
#include "ops/cuda/accumulate.h"

// The numbers of decompositions on a device: float, double, and complex ones of these.

namespace lamella::cuda {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Parts<T>> {
  using type = T;
};
template <class T>
using PartOf = typename RealOf<T>::type;

/// Calls f.operator()<T>() with the number type of a dtype that has decompositions.
template <class F>
void visit_numbers(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float32:
      return f.template operator()<float>();
    case DType::Float64:
      return f.template operator()<double>();
    case DType::Complex64:
      return f.template operator()<Parts<float>>();
    default:
      return f.template operator()<Parts<double>>();
  }
}

template <class T>
__device__ T real_number(PartOf<T> x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return {x, 0};
  }
}
template <class T>
__device__ PartOf<T> real_part(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return x.real;
  }
}
template <class T>
__device__ PartOf<T> imaginary_part(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return 0;
  } else {
    return x.imaginary;
  }
}
template <class T>
__device__ T conjugate_of(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return {x.real, -x.imaginary};
  }
}
template <class T>
__device__ T conjugate_if(T x, bool conjugated) {
  return conjugated ? conjugate_of(x) : x;
}
template <class T>
__device__ T times_real(T x, PartOf<T> by) {
  if constexpr (std::is_floating_point_v<T>) {
    return x * by;
  } else {
    return {x.real * by, x.imaginary * by};
  }
}
template <class T>
__device__ bool is_zero(T x) {
  return real_part(x) == 0 && imaginary_part(x) == 0;
}
/// Returns the sum of the parts' magnitudes, by which pivots are compared.
template <class T>
__device__ PartOf<T> size_of(T x) {
  return std::abs(real_part(x)) + std::abs(imaginary_part(x));
}
/// Returns the square of the magnitude in double: that of a float does not overflow there.
template <class T>
__device__ double square_of(T x) {
  const double real = real_part(x);
  const double imaginary = imaginary_part(x);
  return real * real + imaginary * imaginary;
}

/// Returns a / b without an overflow on the way (Smith, Algorithm 116: complex division, 1962).
template <class T>
__device__ T quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (std::abs(b.imaginary) <= std::abs(b.real)) {
      const PartOf<T> ratio = b.imaginary / b.real;
      const PartOf<T> divisor = b.real + b.imaginary * ratio;
      return {(a.real + a.imaginary * ratio) / divisor, (a.imaginary - a.real * ratio) / divisor};
    }
    const PartOf<T> ratio = b.real / b.imaginary;
    const PartOf<T> divisor = b.real * ratio + b.imaginary;
    return {(a.real * ratio + a.imaginary) / divisor, (a.imaginary * ratio - a.real) / divisor};
  }
}

}  // namespace lamella::cuda
