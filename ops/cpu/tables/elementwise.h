#pragma once

#include "engine/core/dtype.h"
#include "ops/cpu/tables/loop.h"

namespace lamella::cpu {

/// Kernels of the elementwise operators by position in ElementwiseOps and by dtype; null if there is none.
struct ElementwiseTable {
  static constexpr int kMaxOps = 192;

  LoopKernel forward[kMaxOps][kDTypeCount];
  LoopKernel backward[kMaxOps][4][kDTypeCount];
  /// Kernels that convert blocks of a narrow dtype and run the kernel `Loop::wide` of computing_dtype() on them; null
  /// for other dtypes.
  LoopKernel narrow[kDTypeCount];
};

// Note [Narrow dtypes]
// Integers of 8 and 16 bits, uint32, float16 and bfloat16 have kernels of their own for little
// more than moves, comparisons and additions (ops/elementwise/cpu/small.cc). The other operators convert one block of
// elements at a time to a wider dtype, run that dtype's kernel and round the results once. For integers, which wrap,
// the result is the same; for floating dtypes it is that of computing in float. The blocks stay in the L1 cache, so
// that large tensors cost no more than moving them, and no formula is compiled for these dtypes.

/// Returns the dtype whose kernels compute for elements of `dtype`.
constexpr DType computing_dtype(DType dtype) {
  switch (dtype) {
    case DType::Int8:
    case DType::Int16:
    case DType::UInt8:
    case DType::UInt16:
      return DType::Int32;
    case DType::UInt32:
      return DType::Int64;
    case DType::Float16:
    case DType::BFloat16:
      return DType::Float32;
    default:
      return dtype;
  }
}

/// True if kernels of a dtype have a second formula for short rows; see Note [Short formulas].
constexpr bool has_short_formulas(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Int32 || dtype == DType::Int64;
}

/// Fills the columns of T for the operators of a list, whose rows begin at `first`. Instances are in separate files,
/// which cmake/elementwise.cmake generates.
template <class T, class Ops>
void fill_elementwise(ElementwiseTable& table, int first);

/// Fill the columns of 8- and 16-bit dtypes and of uint32; see Note [Narrow dtypes].
void fill_elementwise_narrow(ElementwiseTable& table);
void fill_elementwise_small(ElementwiseTable& table);

}  // namespace lamella::cpu
