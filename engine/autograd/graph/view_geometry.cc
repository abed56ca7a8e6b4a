#include "engine/autograd/graph/view_geometry.h"

#include <algorithm>

namespace lamella::autograd {
namespace {

HiddenAxes hidden_in_first_only(const Tensor& a, const Tensor& b) {
  HiddenAxes result;
  if (!a->hidden) return result;
  for (const HiddenAxis& axis : *a->hidden) {
    const auto same = [&](const HiddenAxis& other) { return other.level == axis.level; };
    if (!b->hidden || std::ranges::none_of(*b->hidden, same)) result.push_back(axis);
  }
  return result;
}

/// Describes complex numbers by their parts, as real numbers.
void take_apart(Dims& shape, Dims& strides) {
  for (std::int64_t& stride : strides) stride *= 2;
  shape.push_back(2);
  strides.push_back(1);
}

void put_in_front(const HiddenAxes& axes, Dims& shape, Dims& strides) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    shape.insert(shape.begin(), axes[i].size);
    strides.insert(strides.begin(), axes[i].stride);
  }
}

}  // namespace

ViewGeometry::ViewGeometry(const Tensor& base, const Tensor& view)
    : base_shape(base.shape()), base_strides(base.strides()), shape(view.shape()), strides(view.strides()) {
  const std::size_t element = std::min(item_size(base.dtype()), item_size(view.dtype()));
  offset = (view->data - base->data) / static_cast<std::int64_t>(element);
  if (base->hidden || view->hidden) {
    base_hides = hidden_in_first_only(base, view);
    view_hides = hidden_in_first_only(view, base);
    put_in_front(base_hides, base_shape, base_strides);
    put_in_front(view_hides, shape, strides);
  }
  if (base.dtype() == view.dtype()) return;
  base_in_parts = is_complex(base.dtype());
  view_in_parts = !base_in_parts;
  if (base_in_parts) {
    take_apart(base_shape, base_strides);
  } else {
    take_apart(shape, strides);
  }
}

}  // namespace lamella::autograd
