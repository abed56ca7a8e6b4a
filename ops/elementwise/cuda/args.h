#pragma once

#include <cstdint>

#include "ops/cuda/strided.h"

namespace lamella::cuda {

/// How what a kernel computes with as float lies in memory. Kernels of float serve float16 and bfloat16, too: a formula
/// takes long to compile, a conversion on the way from and to memory does not.
enum class Stored : std::uint8_t { AsFloat32, AsFloat16, AsBFloat16 };

/// What an elementwise kernel is launched with; operands as in StridedLoop.
struct ElementwiseArgs {
  std::uint32_t elements;
  /// One axis, along which the output and all operands that are not repeated lie densely and aligned: neighbors are
  /// moved as one.
  bool packed;
  Stored stored;
  /// Operands that are one value for all elements, as bits.
  unsigned repeated;
  /// Of these, the ones whose value comes from the host: it is in `values`.
  unsigned by_value;
  char* out;
  const char* in[StridedLoop::kMaxOperands];
  alignas(16) std::uint64_t values[StridedLoop::kMaxOperands][2];
  StridedIndex<1 + StridedLoop::kMaxOperands> index;
};

inline constexpr int kElementwiseThreads = 256;

}  // namespace lamella::cuda
