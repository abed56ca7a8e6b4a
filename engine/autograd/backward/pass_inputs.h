#pragma once

#include <span>
#include <variant>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/core/tensor.h"

// Checks the arguments of backward() and grad(), and brings them into the form that a pass needs.

namespace lamella::autograd {

/// Tensor or edge whose gradient is asked for; the tensor of an edge may be gone.
using GradTarget = std::variant<Tensor, Edge>;

/// Edge at which a pass begins, and the gradient that it begins with.
struct Root {
  Edge edge;
  Tensor grad;
};

/// Returns a root for each output, as backward() describes them. `op` stands in messages.
std::vector<Root> roots_of(std::span<const Tensor> outputs, std::span<const Tensor> grads, const char* op);

/// Returns the edges to the inputs of a call, which keep their nodes alive while it runs. `op` stands in messages.
std::vector<Edge> edges_of(std::span<const GradTarget> inputs, const char* op);

}  // namespace lamella::autograd
