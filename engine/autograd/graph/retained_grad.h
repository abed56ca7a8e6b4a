#pragma once

#include <memory>

#include "engine/autograd/graph/meta.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Makes passes fill `retained`, as long as the node lives that the meta's tensor comes from.
void attach_retained(const AutogradMeta& meta, const std::shared_ptr<RetainedGrad>& retained);
/// Takes what retain_grad() asked for to the node that x comes from now.
void move_retained_grad(const Tensor& x);

}  // namespace lamella::autograd
