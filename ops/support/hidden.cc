#include "ops/support/hidden.h"

#include <algorithm>

#include "engine/core/error.h"

namespace lamella {

HiddenAxes hidden_axes(std::span<const Tensor* const> xs) {
  HiddenAxes result;
  for (const Tensor* x : xs) {
    if (!(*x)->hidden) continue;
    for (const HiddenAxis& axis : *(*x)->hidden) {
      const auto at = std::ranges::lower_bound(result, axis.level, {}, &HiddenAxis::level);
      if (at == result.end() || at->level != axis.level) result.insert(at, axis);
    }
  }
  return result;
}

HiddenAxes hidden_in_first_only(const Tensor& x, const Tensor& other) {
  HiddenAxes result;
  if (!x->hidden) return result;
  for (const HiddenAxis& axis : *x->hidden) {
    if (!find_level(other->hidden.get(), axis.level)) result.push_back(axis);
  }
  return result;
}

Tensor physical(const Tensor& x, const HiddenAxes& axes, std::size_t ndim, MissingAxis missing) {
  Dims shape;
  Dims strides;
  for (const HiddenAxis& axis : axes) {
    const HiddenAxis* own = find_level(x->hidden.get(), axis.level);
    shape.push_back(own || missing == MissingAxis::Repeated ? axis.size : 1);
    strides.push_back(own ? own->stride : 0);
  }
  for (std::size_t i = x.ndim(); i < ndim; ++i) {
    shape.push_back(1);
    strides.push_back(0);
  }
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    shape.push_back(x.shape()[i]);
    strides.push_back(x.strides()[i]);
  }
  Tensor view = make_view(x, shape, strides);
  view->hidden.reset();
  view->contiguous = is_contiguous(shape, strides);
  return view;
}

Tensor hide_in_place(Tensor y, const HiddenAxes& axes) {
  const std::size_t count = axes.size();
  if (count == 0) return y;
  auto hidden = std::make_unique<HiddenAxes>(axes);
  for (std::size_t i = 0; i < count; ++i) (*hidden)[i].stride = y.strides()[i];
  y->shape = Dims(y.shape().begin() + count, y.shape().end());
  y->strides = Dims(y.strides().begin() + count, y.strides().end());
  y->elements = count_elements(y->shape);
  y->hidden = std::move(hidden);
  y->contiguous = false;
  return y;
}

Dims with_axes(const HiddenAxes& axes, DimsView shape) {
  Dims all;
  for (const HiddenAxis& axis : axes) all.push_back(axis.size);
  for (const std::int64_t size : shape) all.push_back(size);
  return all;
}

Tensor empty_batched(std::span<const Tensor* const> inputs, DimsView shape, DType dtype, Device device) {
  const HiddenAxes axes = hidden_axes(inputs);
  return hide_in_place(empty(with_axes(axes, shape), dtype, device), axes);
}

void check_room_for_batched(const Tensor& x, const Tensor& value, const char* op) {
  const HiddenAxes extra = hidden_in_first_only(value, x);
  if (extra.empty()) return;
  fail<RuntimeError>("[", op, "] under vmap the value stands for each of ", extra[0].size,
                     " examples, and the tensor to be written to holds one for all of them: make that tensor from one "
                     "that is mapped over (zeros_like(x), clone()), or use an operator that returns a new tensor");
}

}  // namespace lamella
