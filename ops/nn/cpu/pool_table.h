#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// The windows of pooling along one axis: that of output i is begin[i], begin[i] + step, .. below end[i].
struct PoolAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  const std::int64_t* begin = nullptr;
  const std::int64_t* end = nullptr;
  std::int64_t step = 1;
  /// What the sum along the window of output i is multiplied by.
  const double* scale = nullptr;
};

/// Planes [first, last) of contiguous data [planes, in..] and [planes, out..].
struct PoolArgs {
  PoolAxis axes[3];
  const void* from = nullptr;
  void* to = nullptr;
  /// Places in the input's plane, for the functions that take them.
  std::int64_t* places = nullptr;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

using PoolKernel = void (*)(const PoolArgs&);

struct PoolKernels {
  /// The largest element of each window (NaN where there is one) and, unless `places` is null, where the first of them
  /// is. An empty window gives the lowest value, and the place -1.
  PoolKernel max[kDTypeCount] = {};
  /// The sum of each window, times the axes' scales; of int64 divided by the number whose reciprocal that is.
  PoolKernel sum[kDTypeCount] = {};
  /// Its transpose, from a result's gradient to the input's.
  PoolKernel spread[kDTypeCount] = {};
  /// The elements of the input at `places`, of which there is one for each output; 0 for -1.
  PoolKernel pick[kDTypeCount] = {};
  /// Its transpose: sums, at their places, into zeros.
  PoolKernel put[kDTypeCount] = {};
};

void fill_pool(PoolKernels& kernels);

}  // namespace lamella::cpu
