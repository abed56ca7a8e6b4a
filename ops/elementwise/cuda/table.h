#pragma once

#include "engine/core/dtype.h"
#include "ops/elementwise/cuda/args.h"
#include "ops/elementwise/launch.h"

namespace lamella::cuda {

/// A kernel for elements of one dtype.
struct ElementwiseEntry {
  void (*kernel)(ElementwiseArgs) = nullptr;
  /// Number of elements per thread.
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

/// Fills the columns of T for the operators of a list, whose rows begin at `first`. Instances are in separate files,
/// which cmake/elementwise.cmake generates; those of float also fill the columns of float16 and bfloat16.
template <class T, class Ops>
void fill_elementwise(ElementwiseTable& table, int first);

}  // namespace lamella::cuda
