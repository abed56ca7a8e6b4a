#include <algorithm>
#include <complex>

#include "ops/cpu/complex_product.h"
#include "ops/cpu/tables/reduce.h"
#include "ops/simd/convert.h"

// The gradient of a product with respect to each factor is the product of all others: the product of those before it
// times that of those after it, so that zeros need no special case.

namespace lamella::cpu {
namespace {

template <class T>
T times(T a, T b) {
  if constexpr (kIsComplex<T>) {
    return complex_product(a, b);
  } else {
    return a * b;
  }
}

template <class T>
T conjugate(T a) {
  if constexpr (kIsComplex<T>) {
    return std::conj(a);
  } else {
    return a;
  }
}

/// Computes kRows contiguous rows at once, because each product waits for the one before it.
template <int kRows, class T>
void rows_at_once(const T* x, const T* dy, T* dx, std::int64_t n) {
  T product[kRows];
  for (T& each : product) each = T(1);
  for (std::int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < kRows; ++k) {
      dx[k * n + i] = product[k];
      product[k] = times(product[k], x[k * n + i]);
    }
  }
  for (int k = 0; k < kRows; ++k) product[k] = conjugate(dy[k]);
  for (std::int64_t i = n; i-- > 0;) {
    for (int k = 0; k < kRows; ++k) {
      dx[k * n + i] = conjugate(times(dx[k * n + i], product[k]));
      product[k] = times(product[k], x[k * n + i]);
    }
  }
}

template <class T>
void rows(const void* x, const void* dy, void* dx, std::int64_t n, std::int64_t rows) {
  constexpr std::int64_t kRows = 8;
  const auto* from = static_cast<const T*>(x);
  const auto* by = static_cast<const T*>(dy);
  auto* to = static_cast<T*>(dx);
  std::int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) rows_at_once<kRows>(from + r * n, by + r, to + r * n, n);
  for (; r < rows; ++r) rows_at_once<1>(from + r * n, by + r, to + r * n, n);
}

template <class T>
void columns(const void* x, const void* dy, void* dx, std::int64_t step, std::int64_t n, std::int64_t columns) {
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t c = 0; c < columns; c += kBlock) {
    const std::int64_t width = std::min(kBlock, columns - c);
    const T* __restrict from = static_cast<const T*>(x) + c;
    T* __restrict to = static_cast<T*>(dx) + c;
    T product[kBlock];
    std::fill_n(product, kBlock, T(1));
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t k = 0; k < width; ++k) {
        to[r * step + k] = product[k];
        product[k] = times(product[k], from[r * step + k]);
      }
    }
    for (std::int64_t k = 0; k < width; ++k) product[k] = conjugate(static_cast<const T*>(dy)[c + k]);
    for (std::int64_t r = n; r-- > 0;) {
      for (std::int64_t k = 0; k < width; ++k) {
        to[r * step + k] = conjugate(times(to[r * step + k], product[k]));
        product[k] = times(product[k], from[r * step + k]);
      }
    }
  }
}

}  // namespace

void fill_reduce_others(ReduceKernels& kernels) {
  const auto fill = [&]<class... T>() {
    ((kernels.other_rows[static_cast<std::size_t>(dtype_of<T>)] = rows<T>,
      kernels.other_columns[static_cast<std::size_t>(dtype_of<T>)] = columns<T>),
     ...);
  };
  fill.template operator()<float, double, std::complex<float>, std::complex<double>>();
}

}  // namespace lamella::cpu
