#pragma once

#include <span>

#include "ops/elementwise/elementwise.h"

namespace lamella {

/// An elementwise loop over up to kMaxAxes axes; neighboring axes are merged if all strides allow it. Strides are in
/// elements; axis 0 is the outermost.
struct StridedLoop {
  static constexpr int kMaxAxes = 16;
  static constexpr int kMaxOperands = 6;

  int axes = 0;
  int operands = 0;
  std::int64_t elements = 0;
  std::int64_t sizes[kMaxAxes];
  char* out = nullptr;
  std::int64_t out_strides[kMaxAxes];
  const char* in[kMaxOperands];
  std::int64_t in_strides[kMaxOperands][kMaxAxes];
  /// Bit mask of the operands that are single values in host memory, for a loop on another device.
  unsigned on_host = 0;
};

/// Returns the loop over `out`; each operand broadcasts to its shape.
StridedLoop make_strided_loop(std::span<const Tensor* const> operands, const Tensor& out);

/// Computes `out = kernel(operands)`; each operand broadcasts to out's shape. `operands` are those that the kernel
/// reads, in order. Throws NotImplementedError if the device or dtype has no kernel.
void launch_elementwise(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out,
                        DType dtype);
/// True if there is a kernel for the gradient of input `wrt`; otherwise the formula is run on tensors.
bool has_fused_backward(const ElementwiseOp& op, int wrt);

}  // namespace lamella
