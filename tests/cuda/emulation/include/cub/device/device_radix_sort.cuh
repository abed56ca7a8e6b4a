#pragma once

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "cuda_runtime.h"

namespace cub {

/// Sorts on a device, as CUB's class of this name does: the first call, without scratch memory, asks for its size.
struct DeviceRadixSort {
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* scratch, std::size_t& bytes, const K* keys, K* sorted_keys, const V* values,
                               V* sorted_values, N count, int begin_bit = 0, int end_bit = sizeof(K) * 8,
                               cudaStream_t stream = nullptr) {
    if (!scratch) {
      bytes = 16;
      return cudaSuccess;
    }
    const auto run = [=] {
      using Bits = std::make_unsigned_t<K>;
      const auto key_of = [=](N i) {
        // Signed numbers order as unsigned ones whose highest bit is turned.
        auto bits = static_cast<Bits>(keys[i]);
        if (std::is_signed_v<K>) bits ^= static_cast<Bits>(Bits{1} << (sizeof(K) * 8 - 1));
        const auto from = static_cast<Bits>(bits >> begin_bit);
        const int width = end_bit - begin_bit;
        return width >= static_cast<int>(sizeof(K) * 8) ? from : static_cast<Bits>(from & ((Bits{1} << width) - 1));
      };
      std::vector<N> order(static_cast<std::size_t>(count));
      std::iota(order.begin(), order.end(), N{0});
      std::stable_sort(order.begin(), order.end(), [&](N a, N b) { return key_of(a) < key_of(b); });
      for (N i = 0; i < count; ++i) {
        const N from = order[static_cast<std::size_t>(i)];
        sorted_keys[i] = keys[from];
        sorted_values[i] = values[from];
      }
    };
    return emulation::launch({run, nullptr, dim3(1), dim3(1), 0}, stream);
  }
};

}  // namespace cub
