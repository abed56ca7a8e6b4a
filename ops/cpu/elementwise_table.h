#pragma once

#include "engine/core/dtype.h"
#include "ops/elementwise/loop.h"

namespace lamella::cpu {

/// Kernels of the elementwise operators, by position in ElementwiseOps and by dtype; null where there is none.
struct ElementwiseTable {
  static constexpr int kMaxOps = 128;

  LoopKernel forward[kMaxOps][kDTypeCount];
  LoopKernel backward[kMaxOps][3][kDTypeCount];
};

/// Each fills its dtype's column.
void fill_elementwise_float32(ElementwiseTable& table);
void fill_elementwise_float64(ElementwiseTable& table);
void fill_elementwise_int32(ElementwiseTable& table);
void fill_elementwise_int64(ElementwiseTable& table);
void fill_elementwise_bool(ElementwiseTable& table);

}  // namespace lamella::cpu
