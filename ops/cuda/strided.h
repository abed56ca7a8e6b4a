#pragma once

#include <cstdint>

#include "ops/cuda/fast_divide.h"
#include "ops/simd/hd.h"
#include "ops/support/strided_loop.h"

namespace lamella::cuda {

/// Maps the index of a loop's element to its offset in each of N arrays.
template <int N>
struct StridedIndex {
  int axes = 0;
  /// Sizes of the axes, outermost first; the size of axis 0 is never used as a divisor.
  FastDivide sizes[StridedLoop::kMaxAxes];
  /// Strides in elements.
  std::int64_t strides[N][StridedLoop::kMaxAxes];

  /// Computes the offsets, in elements, of element `index` (below 2^31) in the first kUsed arrays.
  template <int kUsed>
  LM_HD void locate(std::uint32_t index, std::int64_t (&offsets)[kUsed]) const {
    static_assert(kUsed <= N);
    for (int k = 0; k < kUsed; ++k) offsets[k] = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const std::uint32_t rest = axis > 0 ? sizes[axis].quotient(index) : 0;
      const std::int64_t at = index - rest * sizes[axis].divisor;
      index = rest;
      for (int k = 0; k < kUsed; ++k) offsets[k] += at * strides[k][axis];
    }
  }
};

/// Returns the index of a loop: array 0 is the output, followed by the operands.
template <int N>
StridedIndex<N> make_index(const StridedLoop& loop) {
  StridedIndex<N> index;
  index.axes = loop.axes;
  for (int axis = 0; axis < loop.axes; ++axis) {
    index.sizes[axis] = FastDivide(static_cast<std::uint32_t>(loop.sizes[axis]));
    index.strides[0][axis] = loop.out_strides[axis];
    for (int k = 0; k < loop.operands; ++k) index.strides[k + 1][axis] = loop.in_strides[k][axis];
  }
  return index;
}

/// Largest number of elements per launch: kernels count in 32 bits, so larger loops are split.
inline constexpr std::int64_t kMaxPart = std::int64_t{1} << 30;

/// Splits `loop` into parts of at most `limit` elements and calls f(part) for each. Parts of a one-axis loop keep its
/// alignment to 16 elements. `out_bytes` and `in_bytes` are element sizes.
template <class F>
void for_each_part(const StridedLoop& loop, int out_bytes, const int* in_bytes, F&& f, std::int64_t limit = kMaxPart) {
  if (loop.elements <= limit) {
    f(loop);
    return;
  }
  int axis = 0;
  while (loop.sizes[axis] == 1) ++axis;
  const std::int64_t size = loop.sizes[axis];
  std::int64_t half = size / 2;
  if (half > 16) half = half / 16 * 16;
  StridedLoop part = loop;
  part.sizes[axis] = half;
  part.elements = loop.elements / size * half;
  for_each_part(part, out_bytes, in_bytes, f, limit);
  part.sizes[axis] = size - half;
  part.elements = loop.elements - part.elements;
  part.out += half * loop.out_strides[axis] * out_bytes;
  for (int k = 0; k < loop.operands; ++k) {
    // An operand in host memory is a single value, so its pointer does not move.
    if ((loop.on_host >> k & 1) == 0) part.in[k] += half * loop.in_strides[k][axis] * in_bytes[k];
  }
  for_each_part(part, out_bytes, in_bytes, f, limit);
}

}  // namespace lamella::cuda
