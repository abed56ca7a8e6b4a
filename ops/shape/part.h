#pragma once

#include "engine/autograd/graph/view_geometry.h"
#include "engine/core/tensor.h"

namespace lamella {

// A part of a tensor that is described by strides and an offset alone: what a view became after its base was written to
// in place (Note [Views]). The three are linear and differentiate into each other.

/// The part of x, which has the base's shape and any strides, where the view lies in the base: a view of x where x is
/// laid out like the base, of a copy otherwise.
Tensor take_view(const Tensor& x, const autograd::ViewGeometry& geometry);
/// x, which has the view's shape, in a tensor of the base's shape that is 0 elsewhere. Where elements of the view share
/// memory (it was broadcast), their sum.
Tensor place_view(const Tensor& x, const autograd::ViewGeometry& geometry);
/// A copy of x, which has the base's shape, with 0 where the view lies.
Tensor clear_view(const Tensor& x, const autograd::ViewGeometry& geometry);

}  // namespace lamella
