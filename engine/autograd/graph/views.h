#pragma once

#include <algorithm>
#include <span>

#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/node.h"
#include "engine/core/shape.h"

namespace lamella::autograd {

/// Where a view lies in its base: strides and offset in elements, the offset from the base's first element. Axes that
/// vmap hides in one of the two only lead its shape. Where one is complex and the other real, the elements are real
/// numbers, and the complex one has its parts along a last axis of size 2.
struct ViewGeometry {
  Dims base_shape;
  Dims base_strides;
  Dims shape;
  Dims strides;
  std::int64_t offset = 0;
  /// Hidden in the base and not in the view, and the other way round.
  HiddenAxes base_hides;
  HiddenAxes view_hides;
  /// The base is described by its parts, or the view is.
  bool base_in_parts = false;
  bool view_in_parts = false;

  ViewGeometry() = default;
  ViewGeometry(const Tensor& base, const Tensor& view);
};

/// The one of a call's inputs whose memory y, another tensor, shows; null where there is none.
inline const Tensor* shown_input(std::span<const Tensor* const> inputs, const Tensor& y) {
  const auto shows = [&](const Tensor* x) { return (*x)->storage == y->storage && !x->same(y); };
  const auto found = std::ranges::find_if(inputs, shows);
  return found == inputs.end() ? nullptr : *found;
}

/// Makes `view`, an alias of x that nobody else holds yet, a tracked view where recording is on, or `always`. See Note
/// [Views].
void track_view(const Tensor& x, const Tensor& view, bool always = false);
/// The tensor whose memory a tracked view shows.
Tensor base_of(const Tensor& view);

/// Gives x, whose memory now holds other values, the place on the tape that `edge` leads to (an empty one stands for a
/// constant); where x is a tracked view, its base's place follows.
void rebase_history(const Tensor& x, Edge edge);

}  // namespace lamella::autograd
