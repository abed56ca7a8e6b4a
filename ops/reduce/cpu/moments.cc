#include "ops/cpu/tables/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// Computes the sums of the numbers that f gives for each element of a block.
template <int kSums, class T, class F>
void sum_block(const T* x, std::int64_t n, T (&total)[kSums], F&& f) {
  using V = Vec<T>;
  constexpr std::int64_t kStep = 4 * V::size;
  for (T& sum : total) sum = 0;
  std::int64_t i = 0;
  if (n >= kStep) {
    V sums[4][kSums];
    for (auto& row : sums) {
      for (V& sum : row) sum = V(0);
    }
    for (; i + kStep <= n; i += kStep) {
      for (int k = 0; k < 4; ++k) f(V::load(x + i + k * V::size), sums[k]);
    }
    for (int s = 0; s < kSums; ++s) total[s] = sum_lanes((sums[0][s] + sums[1][s]) + (sums[2][s] + sums[3][s]));
  }
  for (; i < n; ++i) {
    V one[kSums];
    for (V& sum : one) sum = V(0);
    f(V(x[i]), one);
    for (int s = 0; s < kSums; ++s) total[s] += one[s][0];
  }
}

void combine(std::int64_t count, std::int64_t n_a, double* mean_a, double* squares_a, std::int64_t n_b,
             const double* mean_b, const double* squares_b) {
  const auto n = static_cast<double>(n_a + n_b);
  const double share = static_cast<double>(n_b) / n;
  const double weight = static_cast<double>(n_a) * share;
  for (std::int64_t i = 0; i < count; ++i) {
    const double apart = mean_b[i] - mean_a[i];
    mean_a[i] += apart * share;
    squares_a[i] += squares_b[i] + apart * apart * weight;
  }
}

/// Corrects a mean that was rounded to `center`, from which the deviations add up to `rest`, and the sum of their
/// squares.
template <class T>
void correct(T center, T rest, T squares, std::int64_t n, double* mean, double* squares_about_mean) {
  const double off = static_cast<double>(rest) / static_cast<double>(n);
  *mean = static_cast<double>(center) + off;
  const auto from_center = static_cast<double>(squares);
  const double about_mean = from_center - static_cast<double>(rest) * off;
  // Infinite squares are so about the mean as well, though the difference of two infinite numbers is none.
  *squares_about_mean = std::isinf(from_center) ? from_center : about_mean < 0 ? 0 : about_mean;
}

/// Computes the moments of elements of float32, `step` apart, anew if their squares were beyond its range. Not for
/// doubles, whose moments would be beyond the range as well.
template <class T>
void correct_range(const T* x, std::int64_t step, std::int64_t n, double* mean, double* squares) {
  if constexpr (sizeof(T) < sizeof(double)) {
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
    const bool finite = std::isfinite(*squares);
    if (finite && *squares > kLeast) [[likely]]
      return;
    bool differ = false;
    for (std::int64_t i = 0; i < n; ++i) differ |= x[i * step] != x[0];
    if (finite && !differ) return;
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += static_cast<double>(x[i * step]);
    *mean = total / static_cast<double>(n);
    *squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double apart = static_cast<double>(x[i * step]) - *mean;
      *squares += apart * apart;
    }
  }
}

template <class T>
void row(const T* x, std::int64_t n, double* mean, double* squares) {
  if (n <= kBlock) {
    T sum[1];
    sum_block(x, n, sum, [](Vec<T> v, Vec<T>* sums) { sums[0] += v; });
    const T center = sum[0] / static_cast<T>(n);
    T around[2];
    sum_block(x, n, around, [center](Vec<T> v, Vec<T>* sums) {
      const Vec<T> apart = v - center;
      sums[0] += apart;
      sums[1] += square(apart);
    });
    correct(center, around[0], around[1], n, mean, squares);
    correct_range(x, 1, n, mean, squares);
    return;
  }
  const std::int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
  double mean_b;
  double squares_b;
  row(x, half, mean, squares);
  row(x + half, n - half, &mean_b, &squares_b);
  combine(1, half, mean, squares, n - half, &mean_b, &squares_b);
}

template <class T>
void few_rows(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns, double* mean, double* squares) {
  T center[kColumns] = {};
  T rest[kColumns] = {};
  T around[kColumns] = {};
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) center[k] += x[r * step + k];
  }
  for (std::int64_t k = 0; k < columns; ++k) center[k] /= static_cast<T>(n);
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) {
      const T apart = x[r * step + k] - center[k];
      rest[k] += apart;
      around[k] += apart * apart;
    }
  }
  for (std::int64_t k = 0; k < columns; ++k) {
    correct(center[k], rest[k], around[k], n, mean + k, squares + k);
    correct_range(x + k, step, n, mean + k, squares + k);
  }
}

template <class T>
void some_columns(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns, double* mean, double* squares) {
  if (n <= kRows) return few_rows(x, step, n, columns, mean, squares);
  const std::int64_t half = (n / 2 + kRows - 1) / kRows * kRows;
  double mean_b[kColumns];
  double squares_b[kColumns];
  some_columns(x, step, half, columns, mean, squares);
  some_columns(x + half * step, step, n - half, columns, mean_b, squares_b);
  combine(columns, half, mean, squares, n - half, mean_b, squares_b);
}

template <class T>
void columns(const T* x, std::int64_t step, std::int64_t n, std::int64_t count, double* mean, double* squares) {
  for (std::int64_t c = 0; c < count; c += kColumns) {
    some_columns(x + c, step, n, std::min(kColumns, count - c), mean + c, squares + c);
  }
}

}  // namespace

void fill_moments(MomentTable& table) {
  table.float32 = {row<float>, columns<float>, combine};
  table.float64 = {row<double>, columns<double>, combine};
}

}  // namespace lamella::cpu
