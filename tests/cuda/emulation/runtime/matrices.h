#pragma once

#include <cublas_v2.h>

#include <bit>
#include <complex>
#include <cstdint>

// Matrices of cuBLAS and cuBLASLt, which are column-major.

/// A handle holds the stream of its work; one of cuBLAS is one of cuBLASLt, too.
struct EmulatedCublas {
  cudaStream_t stream = nullptr;
};

namespace emulation {

/// A float32 that tensor cores read as TF32: with 10 bits of mantissa, to which it is rounded, ties away from zero.
struct Tf32 {
  float stored;

  operator float() const {
    const auto bits = std::bit_cast<std::uint32_t>(stored);
    const bool is_finite = (bits & 0x7F800000u) != 0x7F800000u;
    return std::bit_cast<float>(is_finite ? (bits + 0x1000u) & ~0x1FFFu : bits);
  }
};

template <class T>
T conjugate(T x) {
  return x;
}
template <class T>
std::complex<T> conjugate(std::complex<T> x) {
  return std::conj(x);
}

/// Returns element (row, column) of a column-major matrix, or of its transpose.
template <class A, class T>
A element(const T* x, cublasOperation_t operation, std::int64_t leading, std::int64_t row, std::int64_t column) {
  if (operation == CUBLAS_OP_N) return static_cast<A>(x[row + column * leading]);
  const auto value = static_cast<A>(x[column + row * leading]);
  return operation == CUBLAS_OP_C ? conjugate(value) : value;
}

inline bool layout_fits(cublasOperation_t operation, std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  return leading >= (operation == CUBLAS_OP_N ? rows : columns) && leading >= 1;
}

}  // namespace emulation
