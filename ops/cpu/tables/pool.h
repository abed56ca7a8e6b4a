#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// The windows of pooling along one axis: window i is begin[i], begin[i] + step, .. below end[i].
struct PoolAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  const std::int64_t* begin = nullptr;
  const std::int64_t* end = nullptr;
  std::int64_t step = 1;
  /// Factor of the sum of each window along this axis.
  const double* scale = nullptr;
};

/// Planes [first, last) of contiguous data [planes, in..] and [planes, out..].
struct PoolArgs {
  PoolAxis axes[3];
  const void* from = nullptr;
  void* to = nullptr;
  /// Positions in the input's plane, for the functions that use them.
  std::int64_t* places = nullptr;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

using PoolKernel = void (*)(const PoolArgs&);

struct PoolKernels {
  /// Computes the largest element of each window (NaN if it contains one) and, unless `places` is null, the position of
  /// the first of them. An empty window gives the lowest value and the position -1.
  PoolKernel max[kDTypeCount] = {};
  /// Computes the sum of each window times the axes' scales; for int64, divided by the scale's reciprocal.
  PoolKernel sum[kDTypeCount] = {};
  /// Computes the transpose of `sum`, from a result's gradient to the input's.
  PoolKernel spread[kDTypeCount] = {};
  /// Picks the elements of the input at `places`, one per output; 0 for -1.
  PoolKernel pick[kDTypeCount] = {};
  /// Computes the transpose of `pick`: adds to zeros at `places`.
  PoolKernel put[kDTypeCount] = {};
};

void fill_pool(PoolKernels& kernels);

}  // namespace lamella::cpu
