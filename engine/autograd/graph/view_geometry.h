#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Position of a view in its base: strides and offset in elements, the offset from the base's first element. Axes that
/// vmap hides in one of the two only lead its shape. Where one is complex and the other real, the elements are real
/// numbers, and the complex one has its parts along a last axis of size 2.
struct ViewGeometry {
  Dims base_shape;
  Dims base_strides;
  Dims shape;
  Dims strides;
  std::int64_t offset = 0;
  /// Axes that are hidden in the base and not in the view, and the other way round.
  HiddenAxes base_hides;
  HiddenAxes view_hides;
  /// True if the base (the view) is complex and described by its parts.
  bool base_in_parts = false;
  bool view_in_parts = false;

  ViewGeometry() = default;
  ViewGeometry(const Tensor& base, const Tensor& view);
};

}  // namespace lamella::autograd
