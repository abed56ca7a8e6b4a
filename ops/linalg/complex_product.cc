#include <complex>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/linalg/product.h"
#include "ops/movement/cast.h"

// A product of complex matrices is one of real matrices with the parts side by side: from
//   [ re a  -im a ]   [ re b ]
//   [ im a   re a ] @ [ im b ]
// come the real parts, and below them the imaginary parts. That is the least work (4 multiplications for each complex
// one) and a quarter of the calls; moving the parts takes O(m k + k n + m n).

namespace lamella::detail {
namespace {

constexpr std::int64_t kGrain = 16384;  // numbers that one thread takes at a time

/// x's shape with other last axes.
Dims shaped(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  Dims shape = x.shape();
  shape[shape.size() - 2] = rows;
  shape[shape.size() - 1] = columns;
  return shape;
}

/// Calls f(matrix, row) for all rows.
template <class F>
void for_each_row(std::int64_t matrices, std::int64_t rows, std::int64_t width, F&& f) {
  parallel_for(0, matrices * rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(width, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) f(i / rows, i % rows);
               });
}

template <class T>
void multiply(const Tensor& a, const Tensor& b, const Tensor& out, const char* op) {
  const std::int64_t m = a.size(-2);
  const std::int64_t k = a.size(-1);
  const std::int64_t n = b.size(-1);
  const DType real = dtype_of<T>;
  const Tensor left = empty(shaped(a, 2 * m, 2 * k), real);
  const Tensor right = empty(shaped(b, 2 * k, n), real);
  const Tensor parts = empty(shaped(out, 2 * m, n), real);
  const auto* from_a = a.data<std::complex<T>>();
  const auto* from_b = b.data<std::complex<T>>();
  auto* to = out.data<std::complex<T>>();
  T* const to_left = left.data<T>();
  T* const to_right = right.data<T>();
  const T* const from_parts = parts.data<T>();
  for_each_row(a.numel() / (m * k), m, 4 * k, [&](std::int64_t matrix, std::int64_t row) {
    const std::complex<T>* const x = from_a + (matrix * m + row) * k;
    T* const upper = to_left + (matrix * 2 * m + row) * 2 * k;
    T* const lower = upper + m * 2 * k;
    for (std::int64_t j = 0; j < k; ++j) {
      upper[j] = lower[k + j] = x[j].real();
      lower[j] = x[j].imag();
      upper[k + j] = -x[j].imag();
    }
  });
  for_each_row(b.numel() / (k * n), k, 2 * n, [&](std::int64_t matrix, std::int64_t row) {
    const std::complex<T>* const x = from_b + (matrix * k + row) * n;
    T* const upper = to_right + (matrix * 2 * k + row) * n;
    for (std::int64_t j = 0; j < n; ++j) {
      upper[j] = x[j].real();
      upper[k * n + j] = x[j].imag();
    }
  });
  write_product(left, right, Tensor(), parts, op);
  for_each_row(out.numel() / (m * n), m, 2 * n, [&](std::int64_t matrix, std::int64_t row) {
    const T* const upper = from_parts + (matrix * 2 * m + row) * n;
    std::complex<T>* const y = to + (matrix * m + row) * n;
    for (std::int64_t j = 0; j < n; ++j) y[j] = {upper[j], upper[m * n + j]};
  });
}

}  // namespace

void complex_product(const Tensor& a, const Tensor& b, const Tensor& out, const char* op) {
  const HostRelease release(a.numel() + b.numel() + out.numel());
  if (out.dtype() == DType::Complex64) {
    multiply<float>(contiguous(a), contiguous(b), out, op);
  } else {
    multiply<double>(contiguous(a), contiguous(b), out, op);
  }
}

}  // namespace lamella::detail
