#pragma once

#include <cstdint>

namespace lamella {

/// Two nested loops over an output and up to five operands. Strides in elements of each operand's own type.
struct Loop {
  static constexpr int kMaxOperands = 5;

  std::int64_t inner = 0;
  std::int64_t outer = 1;
  char* out = nullptr;
  std::int64_t out_inner = 0;
  std::int64_t out_outer = 0;
  const char* in[kMaxOperands] = {};
  std::int64_t in_inner[kMaxOperands] = {};
  std::int64_t in_outer[kMaxOperands] = {};
};

using LoopKernel = void (*)(const Loop& loop);

}  // namespace lamella
