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

/// Fills the columns of T, in the rows of the operators of a list, which begin with row `first`. Instances are files of
/// their own, which cmake/elementwise.cmake writes; those of float fill the columns of
/// float16 and bfloat16, too.
template <class T, class Ops>
void fill_elementwise(ElementwiseTable& table, int first);

}  // namespace lamella::cuda
