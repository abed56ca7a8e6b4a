#pragma once

#include <cstdint>

#include "ops/cuda/any_dtype.h"
#include "ops/simd/keys.h"

namespace lamella::cuda {

inline constexpr DTypeSet kSorted = Real | Boolean;

/// The keys of a contiguous tensor's elements, by which they are sorted; see ops/simd/keys.h.
struct RowKeys {
  const void* x;
  DType dtype;
  /// True if the largest element has the smallest key.
  bool descending;
  /// Number of the bits of a key; a member, as device code cannot read the table of sizes.
  int bits;

  RowKeys(const void* x, DType dtype, bool descending = false)
      : x(x), dtype(dtype), descending(descending), bits(8 * static_cast<int>(item_size(dtype))) {}

  __device__ std::uint64_t at(std::int64_t i) const {
    std::uint64_t key = 0;
    visit_on_device<kSorted>(dtype, [&]<class T>() { key = sorting::key_of(element_at<T>(x, i)); });
    return descending ? ~key & (~std::uint64_t{0} >> (64 - bits)) : key;
  }
  __device__ bool is_nan(std::int64_t i) const {
    bool nan = false;
    visit_on_device<kSorted>(dtype, [&]<class T>() { nan = sorting::is_nan(element_at<T>(x, i)); });
    return nan;
  }
};

}  // namespace lamella::cuda
