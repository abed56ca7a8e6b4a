#pragma once

#include <cstdint>

#include "ops/simd/vec.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Fetches the row behind the one that is computed on, line by line, while there is something to compute: a processor
/// reads ahead within a page of memory, and a row often begins one. Not for short rows, of which a page has many, nor
/// for rows that would put each other out of the first cache.
template <class T>
class NextRow {
 public:
  explicit NextRow(std::int64_t width) : ahead_(width >= kShortest && width <= kLongest ? width : 0) {}

  /// What follows the vector at element i of the row at x.
  void fetch(const T* x, std::int64_t i) const {
    constexpr auto kLine = static_cast<std::int64_t>(64 / sizeof(T));
    if (simd::Vec<T>::size >= kLine || i % kLine == 0) __builtin_prefetch(x + i + ahead_);
  }

 private:
  static constexpr auto kShortest = static_cast<std::int64_t>(1024 / sizeof(T));
  static constexpr auto kLongest = static_cast<std::int64_t>(8192 / sizeof(T));

  std::int64_t ahead_;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
