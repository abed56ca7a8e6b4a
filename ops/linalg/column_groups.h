#pragma once

#include <algorithm>
#include <limits>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"

namespace lamella::linalg {

/// Calls f(i, begin, end) for ranges of columns of matrices i < count, on several threads if it pays; `work` is the
/// number of multiplications per column. Ranges are multiples of `unit`, the number of columns that a kernel processes
/// together.
template <class F>
void for_each_columns(std::int64_t count, std::int64_t columns, std::int64_t unit, std::int64_t work, F&& f) {
  constexpr std::int64_t kWorthSharing = 1'000'000;  // multiplications, 32 of which take a cycle
  const std::int64_t groups = (columns + unit - 1) / unit;
  const std::int64_t all = count * groups;
  const HostRelease release(count * columns * work);
  const std::int64_t parts = count * columns * work < kWorthSharing ? 1 : std::min<std::int64_t>(all, thread_count());
  parallel_for(0, all, (all + parts - 1) / parts, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t matrix = begin / groups;
      const std::int64_t first = begin - matrix * groups;
      const std::int64_t last = std::min(groups, first + end - begin);
      f(matrix, first * unit, std::min(columns, last * unit));
      begin += last - first;
    }
  });
}

}  // namespace lamella::linalg
