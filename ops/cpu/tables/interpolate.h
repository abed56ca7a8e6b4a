#pragma once

#include <cstdint>

namespace lamella::cpu {

/// Resamples one axis to another length. Each element of the longer description is a weighted sum of `taps` elements:
/// element o of the result uses index[o * taps + k] and weight[o * taps + k].
template <class T>
struct ResampleArgs {
  const T* from = nullptr;
  T* to = nullptr;
  const std::int64_t* index = nullptr;
  const T* weight = nullptr;
  std::int64_t taps = 0;
  std::int64_t out = 0;    ///< length of the axis that index and weight describe
  std::int64_t in = 0;     ///< length of the other axis
  std::int64_t inner = 0;  ///< number of contiguous elements behind the axis
  /// If not 0, element o is element o / repeats, and has no other tap.
  std::int64_t repeats = 0;
};

template <class T>
struct ResampleKernels {
  /// Computes to[out, inner] from from[in, inner].
  void (*gather)(const ResampleArgs<T>& args) = nullptr;
  /// Computes the transpose of gather: to[in, inner] from from[out, inner].
  void (*scatter)(const ResampleArgs<T>& args) = nullptr;
};

struct InterpolateTable {
  ResampleKernels<float> float32;
  ResampleKernels<double> float64;
};

void fill_interpolate(InterpolateTable& table);

}  // namespace lamella::cpu
