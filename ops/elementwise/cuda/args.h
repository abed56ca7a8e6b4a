#pragma once

#include <cstdint>

#include "ops/cuda/strided.h"

namespace lamella::cuda {

/// The format in memory of values that a kernel computes as float. Kernels of float also serve float16 and bfloat16:
/// compiling a formula takes long, converting on load and store does not.
enum class Stored : std::uint8_t { AsFloat32, AsFloat16, AsBFloat16 };

/// The launch arguments of an elementwise kernel; operands as in StridedLoop.
struct ElementwiseArgs {
  std::uint32_t elements;
  /// True if the loop has one axis along which the output and all operands that are not repeated are contiguous and
  /// aligned: several neighbors move with one instruction.
  bool packed;
  Stored stored;
  /// Bit mask of operands with a single value for all elements.
  unsigned repeated;
  /// Bit mask of the repeated operands whose value is passed in `values`, because it is in host memory.
  unsigned by_value;
  char* out;
  const char* in[StridedLoop::kMaxOperands];
  alignas(16) std::uint64_t values[StridedLoop::kMaxOperands][2];
  StridedIndex<1 + StridedLoop::kMaxOperands> index;
};

inline constexpr int kElementwiseThreads = 256;

}  // namespace lamella::cuda
