#pragma once

#include <memory>

#include "engine/autograd/graph/meta.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Makes passes that reach the node of the meta's tensor fill `retained`, for as long as the node lives.
void attach_retained(const AutogradMeta& meta, const std::shared_ptr<RetainedGrad>& retained);
/// Moves the hook of retain_grad() to the node that x comes from now.
void move_retained_grad(const Tensor& x);

}  // namespace lamella::autograd
