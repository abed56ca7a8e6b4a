#pragma once

#include <cstdint>

#include "ops/cuda/strided.h"

namespace lamella::cuda {

/// What an elementwise kernel is launched with; operands as in StridedLoop.
struct ElementwiseArgs {
  std::uint32_t elements;
  /// One axis, along which the output and all operands that are not repeated lie densely and aligned: neighbors are
  /// moved as one.
  bool packed;
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
