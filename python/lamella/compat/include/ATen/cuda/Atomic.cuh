#pragma once

// Atomic operations of kernels for CUDA, for the element types of tensors.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "c10/core/ScalarType.h"

#if defined(__CUDACC__)
namespace at::detail {

/// Replaces *address by f of it; returns what was there. Numbers of less than 4 bytes are replaced within their word.
template <class T, class F>
__device__ T atomic_update(T* address, F f) {
  using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const auto inside = place % sizeof(Word);
  auto* word = reinterpret_cast<Word*>(place - inside);
  Word seen = *word;
  while (true) {
    Word next = seen;
    T before;
    memcpy(&before, reinterpret_cast<const char*>(&seen) + inside, sizeof(T));
    const T after = f(before);
    memcpy(reinterpret_cast<char*>(&next) + inside, &after, sizeof(T));
    const Word found = atomicCAS(word, seen, next);
    if (found == seen) return before;
    seen = found;
  }
}

}  // namespace at::detail

template <class T>
__device__ T gpuAtomicAdd(T* address, T value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t>) {
    return atomicAdd(address, value);
  } else {
    return at::detail::atomic_update(address, [=](T x) { return static_cast<T>(x + value); });
  }
}
template <class T>
__device__ void gpuAtomicAddNoReturn(T* address, T value) {
  gpuAtomicAdd(address, value);
}
template <class T>
__device__ T gpuAtomicMul(T* address, T value) {
  return at::detail::atomic_update(address, [=](T x) { return static_cast<T>(x * value); });
}
template <class T>
__device__ T gpuAtomicMax(T* address, T value) {
  return at::detail::atomic_update(address, [=](T x) { return x < value ? value : x; });
}
template <class T>
__device__ T gpuAtomicMin(T* address, T value) {
  return at::detail::atomic_update(address, [=](T x) { return value < x ? value : x; });
}
#endif
