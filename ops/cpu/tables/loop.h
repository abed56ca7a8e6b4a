#pragma once

#include <cstdint>

namespace lamella {

struct Loop;
using LoopKernel = void (*)(const Loop& loop);

/// Two nested loops over an output and up to six operands. Strides are in elements of each operand's own type.
struct Loop {
  static constexpr int kMaxOperands = 6;

  std::int64_t inner = 0;
  std::int64_t outer = 1;
  char* out = nullptr;
  std::int64_t out_inner = 0;
  std::int64_t out_outer = 0;
  // Not initialized: clearing unused entries would cost a small operator a tenth of its time.
  const char* in[kMaxOperands];
  std::int64_t in_inner[kMaxOperands];
  std::int64_t in_outer[kMaxOperands];

  /// True if the output is too large to stay in a cache and is written with non-temporal stores. See Note [Large
  /// outputs].
  bool streams = false;

  // The kernel to run in a wider dtype, if the elements are of a narrow one; see Note [Narrow dtypes].
  LoopKernel wide = nullptr;
  int operands = 0;
  bool mask_first = false;
  bool mask_out = false;
};

}  // namespace lamella
