#pragma once

#include <cstdint>

#include "ops/simd/vec.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Prefetches the next row, one cache line at a time, while the current one is computed: the hardware prefetcher stops
/// at the end of a page, and a long row often begins one. Not used for short rows, many of which share a page. Rows
/// that would evict each other from the L1 cache are fetched into the L2 cache, up to a size that fits there.
template <class T>
class NextRow {
 public:
  explicit NextRow(std::int64_t width)
      : ahead_(width >= kShortest && width <= kLongest ? width : 0), nearby_(width <= kNearest) {}

  /// Prefetches the next row's counterpart of element i of the row at x.
  void fetch(const T* x, std::int64_t i) const {
    constexpr auto kLine = static_cast<std::int64_t>(64 / sizeof(T));
    if (simd::Vec<T>::size >= kLine || i % kLine == 0) {
      if (nearby_) {
        __builtin_prefetch(x + i + ahead_);
      } else {
        __builtin_prefetch(x + i + ahead_, 0, 2);
      }
    }
  }

 private:
  static constexpr auto kShortest = static_cast<std::int64_t>(1024 / sizeof(T));
  static constexpr auto kNearest = static_cast<std::int64_t>(8192 / sizeof(T));
  static constexpr auto kLongest = static_cast<std::int64_t>(256 * 1024 / sizeof(T));

  std::int64_t ahead_;
  bool nearby_;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
