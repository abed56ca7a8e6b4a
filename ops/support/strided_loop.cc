#include "ops/support/strided_loop.h"

#include <algorithm>
#include <cstdlib>

#include "engine/core/error.h"

namespace lamella {

StridedLoop make_strided_loop(std::span<const Tensor* const> operands, const Tensor& out) {
  StridedLoop loop;
  loop.elements = out.numel();
  loop.out = out->data;
  bool flat = out.is_contiguous();
  for (const Tensor* x : operands) {
    if (x->device().is_cpu() && !out.device().is_cpu()) loop.on_host |= 1u << loop.operands;
    loop.in[loop.operands++] = (*x)->data;
    flat &= x->is_contiguous() && x->numel() == loop.elements;
  }
  if (flat) {
    loop.axes = 1;
    loop.sizes[0] = loop.elements;
    loop.out_strides[0] = 1;
    for (int k = 0; k < loop.operands; ++k) loop.in_strides[k][0] = 1;
    return loop;
  }

  // Axes are ordered as in the result's memory, innermost last, and merged on the way.
  const Dims& shape = out.shape();
  SmallVector<std::size_t, 5> order;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) order.push_back(axis);
  if (!out.is_contiguous()) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(out.strides()[a]) > std::abs(out.strides()[b]);
    });
  }
  const auto stride_of = [&](const Tensor& x, std::size_t axis) -> std::int64_t {
    const std::size_t missing = shape.size() - x.ndim();
    if (axis < missing || x.shape()[axis - missing] == 1) return 0;
    return x.strides()[axis - missing];
  };
  for (const std::size_t axis : order) {
    if (shape[axis] == 1) continue;
    std::int64_t strides[StridedLoop::kMaxOperands];
    for (int i = 0; i < loop.operands; ++i) strides[i] = stride_of(*operands[static_cast<std::size_t>(i)], axis);
    const int last = loop.axes - 1;
    bool merge = last >= 0 && loop.out_strides[last] == out.strides()[axis] * shape[axis];
    for (int i = 0; merge && i < loop.operands; ++i) merge = loop.in_strides[i][last] == strides[i] * shape[axis];
    if (merge) {
      loop.sizes[last] *= shape[axis];
    } else if (loop.axes == StridedLoop::kMaxAxes) {
      fail<NotImplementedError>("[elementwise] more than ", StridedLoop::kMaxAxes, " axes that cannot be merged");
    } else {
      loop.sizes[loop.axes++] = shape[axis];
    }
    const int at = loop.axes - 1;
    loop.out_strides[at] = out.strides()[axis];
    for (int i = 0; i < loop.operands; ++i) loop.in_strides[i][at] = strides[i];
  }
  if (loop.axes == 0) {
    loop.axes = 1;
    loop.sizes[0] = 1;
    loop.out_strides[0] = 1;
    for (int k = 0; k < loop.operands; ++k) loop.in_strides[k][0] = 0;
  }
  return loop;
}

}  // namespace lamella
