#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// The element of a row in ascending order that is wanted. NaN counts as the largest.
enum class Rank : std::uint8_t {
  /// The k-th, counted from 0.
  Kth,
  /// The lower of the two in the middle; the first NaN if there is one.
  Median,
  /// The lower of the two in the middle of those that are not NaN; the first element if all are NaN.
  NanMedian,
};

/// Contiguous rows of n > 0 elements each.
struct Rows {
  const void* data = nullptr;
  std::int64_t count = 0;
  std::int64_t n = 0;
};

/// `width` adjacent columns of n > 0 elements each, `step` apart.
struct Columns {
  const void* data = nullptr;
  std::int64_t n = 0;
  std::int64_t step = 1;
  std::int64_t width = 1;
};

/// Largest k that is selected in columns without transposing them to rows.
inline constexpr std::int64_t kMostOfColumns = 4;

/// Kernels that return positions of elements in rows and columns; of equal elements the first ones are taken.
struct SortKernels {
  /// Selects the k largest (or smallest) of each row, k <= n, in order if `sorted`.
  using Top = void (*)(const Rows& x, std::int64_t k, bool largest, bool sorted, std::int64_t* out);
  /// Selects the k largest (or smallest) of each column in order, 0 < k <= kMostOfColumns; the results are columns with
  /// the same width.
  using TopDown = void (*)(const Columns& x, std::int64_t k, bool largest, std::int64_t* out);
  /// Selects one element of each row.
  using Nth = void (*)(const Rows& x, Rank rank, std::int64_t k, std::int64_t* out);

  Top top[kDTypeCount] = {};
  TopDown top_down[kDTypeCount] = {};
  Nth nth[kDTypeCount] = {};
};

void fill_sort(SortKernels& kernels);

}  // namespace lamella::cpu
