#include "ops/cpu/tables/moments.h"

#include <algorithm>

#include "ops/cpu/lanes.h"
#include "ops/simd/vec.h"

// Blocks that fit into the cache are read twice, for the mean and for the deviations from it; the moments of blocks are
// then combined pairwise (Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances", 1979). Where the data is split depends on its shape alone.

namespace lamella::cpu {
namespace {

using simd::Vec;

constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kRows = 32;
constexpr std::int64_t kColumns = 256;

/// Returns the sum of f(element) over a block.
template <class T, class F>
T sum_block(const T* x, std::int64_t n, F&& f) {
  using V = Vec<T>;
  constexpr std::int64_t kStep = 4 * V::size;
  T result = 0;
  std::int64_t i = 0;
  if (n >= kStep) {
    V sums[4];
    for (int k = 0; k < 4; ++k) sums[k] = V(0);
    for (; i + kStep <= n; i += kStep) {
      for (int k = 0; k < 4; ++k) sums[k] += f(V::load(x + i + k * V::size));
    }
    result = sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
  for (; i < n; ++i) result += f(V(x[i]))[0];
  return result;
}

template <class T>
void combine(std::int64_t count, std::int64_t n_a, T* mean_a, T* squares_a, std::int64_t n_b, const T* mean_b,
             const T* squares_b) {
  const auto n = static_cast<T>(n_a + n_b);
  const T share = static_cast<T>(n_b) / n;
  const T weight = static_cast<T>(n_a) * share;
  for (std::int64_t i = 0; i < count; ++i) {
    const T apart = mean_b[i] - mean_a[i];
    mean_a[i] += apart * share;
    squares_a[i] += squares_b[i] + apart * apart * weight;
  }
}

template <class T>
void row(const T* x, std::int64_t n, T* mean, T* squares) {
  if (n <= kBlock) {
    *mean = sum_block(x, n, [](Vec<T> v) { return v; }) / static_cast<T>(n);
    const T center = *mean;
    *squares = sum_block(x, n, [center](Vec<T> v) { return square(v - center); });
    return;
  }
  const std::int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
  T mean_b;
  T squares_b;
  row(x, half, mean, squares);
  row(x + half, n - half, &mean_b, &squares_b);
  combine<T>(1, half, mean, squares, n - half, &mean_b, &squares_b);
}

template <class T>
void few_rows(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns, T* mean, T* squares) {
  std::fill_n(mean, columns, T{0});
  std::fill_n(squares, columns, T{0});
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) mean[k] += x[r * step + k];
  }
  for (std::int64_t k = 0; k < columns; ++k) mean[k] /= static_cast<T>(n);
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) {
      const T apart = x[r * step + k] - mean[k];
      squares[k] += apart * apart;
    }
  }
}

template <class T>
void some_columns(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns, T* mean, T* squares) {
  if (n <= kRows) return few_rows(x, step, n, columns, mean, squares);
  const std::int64_t half = (n / 2 + kRows - 1) / kRows * kRows;
  T mean_b[kColumns];
  T squares_b[kColumns];
  some_columns(x, step, half, columns, mean, squares);
  some_columns(x + half * step, step, n - half, columns, mean_b, squares_b);
  combine<T>(columns, half, mean, squares, n - half, mean_b, squares_b);
}

template <class T>
void columns(const T* x, std::int64_t step, std::int64_t n, std::int64_t count, T* mean, T* squares) {
  for (std::int64_t c = 0; c < count; c += kColumns) {
    some_columns(x + c, step, n, std::min(kColumns, count - c), mean + c, squares + c);
  }
}

}  // namespace

void fill_moments(MomentTable& table) {
  table.float32 = {row<float>, columns<float>, combine<float>};
  table.float64 = {row<double>, columns<double>, combine<double>};
}

}  // namespace lamella::cpu
