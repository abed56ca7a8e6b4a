#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/recording/recorder.h"
#include "engine/autograd/saved/context.h"
#include "engine/core/tensor.h"

// The gradients that a layer's backward is given, and those that it returns.

namespace lamella::autograd {

/// The gradient that a layer returned for one argument: nothing, a tensor, or (for a container) a list.
struct GradientEntry {
  TensorList tensors;
  bool container = false;
};

/// Sorts what backward returned to the tensors of the call, by the rules of docs/custom-layers.md: ValueError where the
/// count or the form is wrong. `names` may hold the arguments' names.
TensorList assign_gradients(const Node& node, const Context& ctx, std::vector<GradientEntry> entries,
                            const Dialect& dialect = {}, std::span<const std::string> names = {});

/// Makes a returned gradient fit input `k`: sums over broadcast axes, casts. ValueError, RuntimeError for another shape
/// or device.
Tensor conform_gradient(const Node& node, const Context& ctx, std::size_t k, Tensor grad);

/// Gradients of the outputs as backward wants them: zeros where there are none (unless switched off), in the outputs'
/// dtypes.
void prepare_gradients(const Context& ctx, TensorList& grads);

}  // namespace lamella::autograd
