#pragma once

#include <span>

#include "ops/elementwise/elementwise.h"

namespace lamella {

/// An elementwise loop over up to kMaxAxes axes, with neighboring axes merged where all strides allow. Strides in
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
  /// For a loop on another device: the operands that are single values in host memory, as bits.
  unsigned on_host = 0;
};

/// The loop in which each operand broadcasts to out's shape.
StridedLoop make_strided_loop(std::span<const Tensor* const> operands, const Tensor& out);

/// Computes `out = kernel(operands)`: each operand broadcasts to out's shape. `operands` are those that the kernel
/// reads, in order. NotImplementedError where the device or dtype has no kernel.
void launch_elementwise(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out,
                        DType dtype);
/// Whether there is a kernel for the gradient of input `wrt`; otherwise the formula is run on tensors.
bool has_fused_backward(const ElementwiseOp& op, int wrt);

}  // namespace lamella
