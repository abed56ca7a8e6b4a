#pragma once

#include "engine/core/dtype.h"
#include "ops/elementwise/cuda/args.h"
#include "ops/elementwise/launch.h"

namespace lamella::cuda {

/// One kernel on elements of one dtype.
struct ElementwiseEntry {
  /// A __global__ function that takes an ElementwiseArgs; null where there is none.
  const void* kernel = nullptr;
  /// Elements that a thread computes.
  int lanes = 0;
  int out_bytes = 0;
  int in_bytes[StridedLoop::kMaxOperands] = {};
  Stored stored = Stored::AsFloat32;
};

/// Kernels of the elementwise operators, by position in ElementwiseOps and by dtype.
struct ElementwiseTable {
  static constexpr int kMaxOps = 192;

  ElementwiseEntry forward[kMaxOps][kDTypeCount];
  ElementwiseEntry backward[kMaxOps][ElementwiseOp::kMaxInputs][kDTypeCount];
};

/// Each fills its dtype's column; that of float32 those of float16 and bfloat16, too.
void fill_elementwise_float32(ElementwiseTable& table);
void fill_elementwise_float64(ElementwiseTable& table);
void fill_elementwise_int32(ElementwiseTable& table);
void fill_elementwise_int64(ElementwiseTable& table);
void fill_elementwise_bool(ElementwiseTable& table);
void fill_elementwise_int8(ElementwiseTable& table);
void fill_elementwise_int16(ElementwiseTable& table);
void fill_elementwise_uint8(ElementwiseTable& table);
void fill_elementwise_uint16(ElementwiseTable& table);
void fill_elementwise_uint32(ElementwiseTable& table);
void fill_elementwise_uint64(ElementwiseTable& table);
void fill_elementwise_complex64(ElementwiseTable& table);
void fill_elementwise_complex128(ElementwiseTable& table);

}  // namespace lamella::cuda
