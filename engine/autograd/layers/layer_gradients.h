#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/recording/recorder.h"
#include "engine/autograd/saved/context.h"
#include "engine/core/tensor.h"

// Gradients that a layer's backward is given, and gradients that it returns.

namespace lamella::autograd {

/// Gradient that a layer returned for one argument: nothing, a tensor, or (for a container) a list.
struct GradientEntry {
  TensorList tensors;
  bool container = false;
};

/// Assigns the gradients that backward returned to the tensors of the call, by the rules of docs/custom-layers.md:
/// ValueError where the count or the form is wrong. `names` may hold the arguments' names.
TensorList assign_gradients(const Node& node, const Context& ctx, std::vector<GradientEntry> entries,
                            const Dialect& dialect = {}, std::span<const std::string> names = {});

/// Makes a returned gradient fit input `k`: sums over broadcast axes, casts. ValueError for another shape, RuntimeError
/// for another device.
Tensor conform_gradient(const Node& node, const Context& ctx, std::size_t k, Tensor grad);

/// Completes the gradients of the outputs for backward: zeros where there are none, casts to the outputs' dtypes,
/// unless either is switched off.
void prepare_gradients(const Context& ctx, TensorList& grads);

}  // namespace lamella::autograd
