#pragma once

#include <cstdint>

namespace lamella::cpu {

/// One axis to another length, each element of the longer description being a weighted sum of `taps` elements: element
/// o of the result has index[o * taps + k] and weight[o * taps + k].
template <class T>
struct ResampleArgs {
  const T* from = nullptr;
  T* to = nullptr;
  const std::int64_t* index = nullptr;
  const T* weight = nullptr;
  std::int64_t taps = 0;
  std::int64_t out = 0;    ///< the length that index and weight describe
  std::int64_t in = 0;     ///< the other length
  std::int64_t inner = 0;  ///< elements behind the axis, which lie together
};

template <class T>
struct ResampleKernels {
  /// to[out, inner] from from[in, inner].
  void (*gather)(const ResampleArgs<T>& args) = nullptr;
  /// The transpose: to[in, inner] from from[out, inner].
  void (*scatter)(const ResampleArgs<T>& args) = nullptr;
};

struct InterpolateTable {
  ResampleKernels<float> float32;
  ResampleKernels<double> float64;
};

void fill_interpolate(InterpolateTable& table);

}  // namespace lamella::cpu
