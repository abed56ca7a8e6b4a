#include "ops/shape/part.h"

#include <limits>
#include <utility>

#include "engine/autograd/graph/primitives.h"
#include "ops/shape/complex_view.h"
#include "ops/shape/hide.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using autograd::ViewGeometry;

/// A new tensor with the base's shape and strides, and the view of it.
struct Laid {
  Tensor whole;
  Tensor part;
};

/// Allocates memory for values of x's dtype with the base's layout, zeroed if `zeroed`, and returns it with the view's
/// part.
Laid lay_out(const ViewGeometry& geometry, const Tensor& x, bool zeroed) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t i = 0; i < geometry.base_shape.size(); ++i) {
    const std::int64_t reach = (geometry.base_shape[i] - 1) * geometry.base_strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (count_elements(geometry.base_shape) == 0) low = high = 0;
  const Dims span{high - low + 1};
  const Tensor memory = empty_beside(x, span, x.dtype(), x.device());
  if (zeroed) write_value(memory, 0, "view");
  return {make_view(memory, geometry.base_shape, geometry.base_strides, -low),
          make_view(memory, geometry.shape, geometry.strides, geometry.offset - low)};
}

/// Returns the view's shape with axes of stride 0 reduced to size 1, so that each element has separate memory.
Dims distinct_shape(const ViewGeometry& geometry) {
  Dims shape = geometry.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (geometry.strides[i] == 0 && shape[i] > 1) shape[i] = 1;
  }
  return shape;
}

/// Returns entry i of an axis, with the axis removed.
Tensor entry_of(const Tensor& x, std::size_t axis, std::int64_t i) {
  Dims shape = x.shape();
  Dims strides = x.strides();
  const std::int64_t offset = i * strides[axis];
  shape.erase(shape.begin() + axis);
  strides.erase(strides.begin() + axis);
  return make_view(x, shape, strides, offset);
}

/// Returns the axis along which to split a part with overlapping windows: the shortest whose removal leaves no overlap,
/// or the shortest one.
std::size_t axis_to_cut(const Tensor& part) {
  const auto leaves_none = [&](std::size_t axis) {
    const Tensor rest = entry_of(part, axis, 0);
    return !overlaps_itself(rest.shape(), rest.strides());
  };
  std::size_t best = 0;
  std::pair<bool, std::int64_t> best_rank{true, std::numeric_limits<std::int64_t>::max()};
  for (std::size_t axis = 0; axis < part.ndim(); ++axis) {
    if (part.shape()[axis] == 1) continue;
    const std::pair rank{!leaves_none(axis), part.shape()[axis]};
    if (rank >= best_rank) continue;
    best = axis;
    best_rank = rank;
  }
  return best;
}

/// Adds values into `part`, whose windows may overlap: in pieces without overlap, one after the other.
void add_windows(const Tensor& part, const Tensor& values) {
  if (!overlaps_itself(part.shape(), part.strides())) {
    autograd::primitives().add_in_place(part, values);
    return;
  }
  const std::size_t axis = axis_to_cut(part);
  for (std::int64_t i = 0; i < part.shape()[axis]; ++i) add_windows(entry_of(part, axis, i), entry_of(values, axis, i));
}

struct TakeFn : LinearOperatorLayer<TakeFn> {
  static constexpr std::string_view name = "take_view";

  static Tensor forward(Context& ctx, const Tensor& x, const ViewGeometry& geometry) {
    if (ctx.recording()) ctx.state<ViewGeometry>() = geometry;
    if (x.strides() == geometry.base_strides) return make_view(x, geometry.shape, geometry.strides, geometry.offset);
    const Laid laid = lay_out(geometry, x, false);
    write_values(laid.whole, x, "take_view");
    return laid.part;
  }
  static Tensor backward(Context& ctx, const Tensor& dy);
};

struct PlaceFn : LinearOperatorLayer<PlaceFn> {
  static constexpr std::string_view name = "place_view";

  static Tensor forward(Context& ctx, const Tensor& x, const ViewGeometry& geometry) {
    if (ctx.recording()) ctx.state<ViewGeometry>() = geometry;
    const Laid laid = lay_out(geometry, x, true);
    const Dims distinct = distinct_shape(geometry);
    const Tensor part = make_view(laid.part, distinct, geometry.strides);
    const Tensor values = autograd::primitives().sum_to(x, distinct);
    if (overlaps_itself(distinct, geometry.strides)) {
      add_windows(part, values);
    } else {
      write_values(part, values, "place_view");
    }
    return laid.whole;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return TakeFn::apply(dy, ctx.state<ViewGeometry>()); }
};

struct ClearFn : LinearOperatorLayer<ClearFn> {
  static constexpr std::string_view name = "clear_view";

  static Tensor forward(Context& ctx, const Tensor& x, const ViewGeometry& geometry) {
    if (ctx.recording()) ctx.state<ViewGeometry>() = geometry;
    const Laid laid = lay_out(geometry, x, false);
    write_values(laid.whole, x, "clear_view");
    write_value(make_view(laid.part, distinct_shape(geometry), geometry.strides), 0, "clear_view");
    return laid.whole;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return apply(dy, ctx.state<ViewGeometry>()); }
};

Tensor TakeFn::backward(Context& ctx, const Tensor& dy) { return PlaceFn::apply(dy, ctx.state<ViewGeometry>()); }

/// Shows the hidden axes of x in front, as in the geometry.
Tensor with_shown(Tensor x, const HiddenAxes& axes) {
  for (std::size_t i = axes.size(); i-- > 0;) x = show_axis(x, axes[i].level, axes[i].size);
  return x;
}

/// Returns complex x as its parts if the geometry is that of real numbers.
Tensor taken_apart(const Tensor& x, bool in_parts) { return in_parts ? parts_of(x) : x; }

Tensor put_together(const Tensor& x, bool in_parts) { return in_parts ? joined_pairs(x) : x; }

Tensor with_hidden(Tensor x, const HiddenAxes& axes) {
  for (const HiddenAxis& axis : axes) x = hide_axis(x, axis.level);
  return x;
}

}  // namespace

Tensor take_view(const Tensor& x, const ViewGeometry& geometry) {
  const Tensor whole = taken_apart(with_shown(x, geometry.base_hides), geometry.base_in_parts);
  const Tensor part = put_together(TakeFn::apply(whole, geometry), geometry.view_in_parts);
  return with_hidden(part, geometry.view_hides);
}
Tensor place_view(const Tensor& x, const ViewGeometry& geometry) {
  const Tensor part = taken_apart(with_shown(x, geometry.view_hides), geometry.view_in_parts);
  const Tensor whole = put_together(PlaceFn::apply(part, geometry), geometry.base_in_parts);
  return with_hidden(whole, geometry.base_hides);
}
Tensor clear_view(const Tensor& x, const ViewGeometry& geometry) {
  const Tensor before = taken_apart(with_shown(x, geometry.base_hides), geometry.base_in_parts);
  const Tensor whole = put_together(ClearFn::apply(before, geometry), geometry.base_in_parts);
  return with_hidden(whole, geometry.base_hides);
}

}  // namespace lamella
