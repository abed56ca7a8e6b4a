#pragma once

#include <cstdint>

namespace lamella {

struct Loop;
using LoopKernel = void (*)(const Loop& loop);

/// Two nested loops over an output and up to six operands. Strides in elements of each operand's own type.
struct Loop {
  static constexpr int kMaxOperands = 6;

  std::int64_t inner = 0;
  std::int64_t outer = 1;
  char* out = nullptr;
  std::int64_t out_inner = 0;
  std::int64_t out_outer = 0;
  // The entries of the operands there are; clearing the others would cost a small operator a tenth of its time.
  const char* in[kMaxOperands];
  std::int64_t in_inner[kMaxOperands];
  std::int64_t in_outer[kMaxOperands];

  /// The output is so large that nobody finds it in a cache: it is written past them. See Note [Large outputs].
  bool streams = false;

  // For a kernel that computes in a wider dtype than that of the elements; see Note [Narrow dtypes].
  LoopKernel wide = nullptr;
  int operands = 0;
  bool mask_first = false;
  bool mask_out = false;
};

}  // namespace lamella
