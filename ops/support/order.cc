#include "ops/support/order.h"

#include <algorithm>
#include <cstdlib>

#include "ops/support/hidden.h"

namespace lamella {

Tensor empty_in_order(std::span<const Tensor* const> operands, DimsView shape, DType dtype, Device device) {
  Tensor out = empty_beside(operands, shape, dtype, device);
  if (shape.size() < 2) return out;
  const auto whole =
      std::ranges::find_if(operands, [&](const Tensor* x) { return std::ranges::equal(x->shape(), shape); });
  if (whole == operands.end() || (*whole)->is_contiguous()) return out;
  const Dims& steps = (*whole)->strides();
  SmallVector<std::size_t, 5> order;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (steps[axis] == 0 && shape[axis] > 1) return out;  // a broadcast tensor has no order of axes
    order.push_back(axis);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(steps[a]) > std::abs(steps[b]); });
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    out->strides[order[i]] = step;
    step *= shape[order[i]];
  }
  // Hidden axes stay in front: under vmap an example is laid out as without it.
  out->contiguous = !is_batched(out) && is_contiguous(shape, out->strides);
  return out;
}

}  // namespace lamella
