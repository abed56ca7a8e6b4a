#pragma once

#include "engine/core/tensor.h"
#include "ops/shape/reshape.h"

namespace lamella {

/// Returns a recorded alias of x with a place of its own on the tape. A layer that differentiates a composition does so
/// with respect to aliases of its operands: where one operand was computed from another, the gradient that reaches the
/// latter through the former is not the layer's.
inline Tensor own_alias(const Tensor& x) { return reshape(x, x.shape()); }

/// Returns own_alias(x), which wants a gradient also where x does not: tensors that a checkpoint or a hook for saved
/// tensors gives back are constants.
inline Tensor wanted_alias(const Tensor& x) {
  Tensor alias = own_alias(x);
  if (!alias.requires_grad()) alias.set_requires_grad(true);
  return alias;
}

}  // namespace lamella
