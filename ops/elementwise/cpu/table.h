#pragma once

#include "engine/core/dtype.h"
#include "ops/elementwise/loop.h"

namespace lamella::cpu {

/// Kernels of the elementwise operators, by position in ElementwiseOps and by dtype; null where there is none.
struct ElementwiseTable {
  static constexpr int kMaxOps = 192;

  LoopKernel forward[kMaxOps][kDTypeCount];
  LoopKernel backward[kMaxOps][4][kDTypeCount];
  /// Runs the kernel `Loop::wide` of computing_dtype() on elements of a narrow dtype; null for the others.
  LoopKernel narrow[kDTypeCount];
};

// Note [Narrow dtypes]
// Integers of 8 and 16 bits, uint32, float16 and bfloat16 have kernels of their own for little more than what moves,
// compares and adds (ops/elementwise/cpu/small.cc). For the other operators a block of elements at a time
// is converted to a wider dtype, where the kernel of that dtype computes, and the results are rounded once: for
// integers that wrap the result is the same, for floating dtypes it is what computing in float means. The blocks stay
// in the first level cache, so large tensors cost what moving them costs, and no formula is compiled for these dtypes.

/// The dtype whose kernels compute for elements of `dtype`.
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

/// Whether kernels of a dtype go from short row to short row; see Note [Short formulas].
constexpr bool has_short_formulas(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Int32 || dtype == DType::Int64;
}

/// Fills the columns of T, in the rows of the operators of a list, which begin with row `first`. Instances are files of
/// their own, which cmake/elementwise.cmake writes.
template <class T, class Ops>
void fill_elementwise(ElementwiseTable& table, int first);

/// Fill the columns of 8- and 16-bit dtypes and of uint32; see Note [Narrow dtypes].
void fill_elementwise_narrow(ElementwiseTable& table);
void fill_elementwise_small(ElementwiseTable& table);

}  // namespace lamella::cpu
