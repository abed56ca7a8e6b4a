#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// Which element of a row in ascending order. NaN counts as the largest.
enum class Rank : std::uint8_t {
  /// The k-th, from 0.
  Kth,
  /// The lower of the two in the middle; the first NaN where there is one.
  Median,
  /// The lower of the two in the middle of those that are not NaN; the first where all are.
  NanMedian,
};

/// Rows of n > 0 elements, one behind the other.
struct Rows {
  const void* data = nullptr;
  std::int64_t count = 0;
  std::int64_t n = 0;
};

/// Columns of n > 0 elements, which are `step` apart: `width` of them, side by side.
struct Columns {
  const void* data = nullptr;
  std::int64_t n = 0;
  std::int64_t step = 1;
  std::int64_t width = 1;
};

/// So many are found in columns without making rows of them.
inline constexpr std::int64_t kMostOfColumns = 4;

/// Positions of elements of rows and columns; of equal elements the first ones are taken.
struct SortKernels {
  /// The k largest (or smallest) of each row, k <= n: in order where `sorted` is set.
  using Top = void (*)(const Rows& x, std::int64_t k, bool largest, bool sorted, std::int64_t* out);
  /// The same of columns in order, 0 < k <= kMostOfColumns; the results are columns whose elements are as far apart.
  using TopDown = void (*)(const Columns& x, std::int64_t k, bool largest, std::int64_t* out);
  /// One element of each row.
  using Nth = void (*)(const Rows& x, Rank rank, std::int64_t k, std::int64_t* out);

  Top top[kDTypeCount] = {};
  TopDown top_down[kDTypeCount] = {};
  Nth nth[kDTypeCount] = {};
};

void fill_sort(SortKernels& kernels);

}  // namespace lamella::cpu
