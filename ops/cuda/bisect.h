#pragma once

#include <cstdint>

namespace lamella::cuda {

/// Returns the first i in [begin, end) for which behind(i) is false, or `end`; it is true for those before it.
template <class F>
__device__ std::int64_t first_not(std::int64_t begin, std::int64_t end, F&& behind) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (behind(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace lamella::cuda
