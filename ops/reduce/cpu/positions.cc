#include <algorithm>
#include <type_traits>

#include "ops/cpu/tables/reduce.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

/// True if x precedes the best so far: the first NaN wins, then the first extreme value.
template <bool kMax, class T>
bool is_better(T x, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (best != best) return false;
    if (x != x) return true;
  }
  return kMax ? x > best : x < best;
}

/// Returns the extreme value of a contiguous row, or NaN if it contains one.
template <bool kMax, class T>
T extreme(const T* x, std::int64_t n) {
  using V = simd::Vec<T>;
  T best = x[0];
  std::int64_t i = 0;
  if (n >= V::size) {
    V lanes = V::load(x);
    for (i = V::size; i + V::size <= n; i += V::size) {
      const V next = V::load(x + i);
      lanes = kMax ? maximum(lanes, next) : minimum(lanes, next);
    }
    best = lanes[0];
    for (int k = 1; k < V::size; ++k) {
      if (is_better<kMax>(lanes[k], best)) best = lanes[k];
    }
  }
  for (; i < n; ++i) {
    if (is_better<kMax>(x[i], best)) best = x[i];
  }
  return best;
}

template <bool kMax, class T>
std::int64_t position_in_row(const T* x, std::int64_t step, std::int64_t n) {
  std::int64_t at = 0;
  if (step == 1 && n > simd::Vec<T>::size) {
    const T best = extreme<kMax>(x, n);
    if (best != best) {
      while (x[at] == x[at]) ++at;
    } else {
      while (x[at] != best) ++at;
    }
  } else {
    T best = x[0];
    for (std::int64_t i = 1; i < n; ++i) {
      if (is_better<kMax>(x[i * step], best)) {
        best = x[i * step];
        at = i;
      }
    }
  }
  return at;
}

constexpr std::int64_t kShortRow = 32;

/// Finds the positions in as many rows of at most kShortRow elements as a vector has lanes, one row per lane. A branch
/// per element would be mispredicted and dominate the time.
template <bool kMax, class T>
void positions_in_short_rows(const T* x, std::int64_t n, std::int64_t row_step, std::int64_t* at) {
  constexpr int kLanes = simd::Vec<T>::size;
  using Index = std::make_unsigned_t<simd::LaneMaskInt<T>>;
  T columns[kShortRow * kLanes];
  for (int r = 0; r < kLanes; ++r) {
    for (std::int64_t i = 0; i < n; ++i) columns[i * kLanes + r] = x[r * row_step + i];
  }
  auto best = simd::Vec<T>::load(columns).native();
  simd::Native<Index> found{};
  for (std::int64_t i = 1; i < n; ++i) {
    const auto next = simd::Vec<T>::load(columns + i * kLanes).native();
    simd::Native<simd::LaneMaskInt<T>> better = kMax ? next > best : next < best;
    if constexpr (std::is_floating_point_v<T>) better = (better | (next != next)) & (best == best);
    best = better ? next : best;
    found = better ? simd::splat<simd::Native<Index>>(static_cast<Index>(i)) : found;
  }
  for (int r = 0; r < kLanes; ++r) at[r] = found[r];
}

template <bool kMax, class T>
void positions_in_rows(const void* data, std::int64_t step, std::int64_t n, std::int64_t rows, std::int64_t row_step,
                       void* out) {
  constexpr int kLanes = simd::Vec<T>::size;
  const T* x = static_cast<const T*>(data);
  auto* at = static_cast<std::int64_t*>(out);
  std::int64_t r = 0;
  if (step == 1 && n <= kShortRow) {
    for (; r + kLanes <= rows; r += kLanes) positions_in_short_rows<kMax>(x + r * row_step, n, row_step, at + r);
  }
  for (; r < rows; ++r) at[r] = position_in_row<kMax>(x + r * row_step, step, n);
}

template <bool kMax, class T>
void position_in_columns(const void* data, std::int64_t step, std::int64_t n, std::int64_t columns, void* out) {
  constexpr std::int64_t kBlock = 512;
  const T* x = static_cast<const T*>(data);
  auto* at = static_cast<std::int64_t*>(out);
  T best[kBlock];
  for (std::int64_t c = 0; c < columns; c += kBlock) {
    const std::int64_t width = std::min(kBlock, columns - c);
    std::copy_n(x + c, width, best);
    std::fill_n(at + c, width, 0);
    for (std::int64_t r = 1; r < n; ++r) {
      const T* row = x + r * step + c;
      for (std::int64_t k = 0; k < width; ++k) {
        const bool better = is_better<kMax>(row[k], best[k]);
        best[k] = better ? row[k] : best[k];
        at[c + k] = better ? r : at[c + k];
      }
    }
  }
}

template <class... T>
void fill(ReduceKernels& kernels) {
  constexpr auto kArgMax = static_cast<std::size_t>(Reduction::ArgMax);
  constexpr auto kArgMin = static_cast<std::size_t>(Reduction::ArgMin);
  ((kernels.rows[kArgMax][static_cast<std::size_t>(dtype_of<T>)] = positions_in_rows<true, T>,
    kernels.rows[kArgMin][static_cast<std::size_t>(dtype_of<T>)] = positions_in_rows<false, T>,
    kernels.columns[kArgMax][static_cast<std::size_t>(dtype_of<T>)] = position_in_columns<true, T>,
    kernels.columns[kArgMin][static_cast<std::size_t>(dtype_of<T>)] = position_in_columns<false, T>),
   ...);
}

}  // namespace

void fill_reduce_positions(ReduceKernels& kernels) {
  fill<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(kernels);
  fill<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(kernels);
  fill<float, double>(kernels);
}

}  // namespace lamella::cpu
