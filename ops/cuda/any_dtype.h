#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/core/dtype.h"
#include "ops/simd/convert.h"

// Elements of a dtype that is known when the kernel runs, so that one kernel serves many: every thread takes the same
// branch.

namespace lamella::cuda {

/// Calls f.operator()<T>() with the C++ type of `dtype`, which must be in kSet.
template <DTypeSet kSet, std::size_t I = 0, class F>
__device__ void visit_on_device(DType dtype, F&& f) {
  if constexpr (I < kDTypeCount) {
    if constexpr (kSet.contains(static_cast<DType>(I))) {
      if (dtype == static_cast<DType>(I)) return f.template operator()<cpp_type<static_cast<DType>(I)>>();
    }
    visit_on_device<kSet, I + 1>(dtype, f);
  }
}

/// Returns an element; a bool is true whatever its byte, unless that is 0.
template <class T>
__device__ T element_at(const void* from, std::int64_t at) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<const std::uint8_t*>(from)[at] != 0;
  } else {
    return static_cast<const T*>(from)[at];
  }
}

/// Calls f with an element as the Middle of its dtype.
template <DTypeSet kSet, class F>
__device__ void read_element(DType dtype, const void* from, std::int64_t at, F&& f) {
  visit_on_device<kSet>(dtype, [&]<class T>() { f(convert<Middle<T>>(element_at<T>(from, at))); });
}

/// Writes a number as an element.
template <DTypeSet kSet, class From>
__device__ void write_element(DType dtype, From value, void* to, std::int64_t at) {
  visit_on_device<kSet>(dtype, [&]<class T>() { static_cast<T*>(to)[at] = convert<T>(value); });
}

}  // namespace lamella::cuda
