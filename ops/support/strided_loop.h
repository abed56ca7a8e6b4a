#pragma once

#include <cstdint>
#include <span>

#include "engine/core/tensor.h"

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

}  // namespace lamella
