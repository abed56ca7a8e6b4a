#pragma once

#include "engine/autograd/graph/view_geometry.h"
#include "engine/core/tensor.h"

namespace lamella {

// Parts of a tensor described by strides and an offset alone: what a view becomes after its base was written to in
// place (Note [Views]). The functions are linear and are each other's gradients.

/// Returns the part of x, which has the base's shape and any strides, at the view's position in the base: a view of x
/// if x has the base's layout, of a copy otherwise.
Tensor take_view(const Tensor& x, const autograd::ViewGeometry& geometry);
/// Returns a tensor of the base's shape that is x, of the view's shape, at the view's position and 0 elsewhere.
/// Elements that share memory (the view was broadcast) are summed.
Tensor place_view(const Tensor& x, const autograd::ViewGeometry& geometry);
/// Returns a copy of x, of the base's shape, with 0 at the view's position.
Tensor clear_view(const Tensor& x, const autograd::ViewGeometry& geometry);

}  // namespace lamella
