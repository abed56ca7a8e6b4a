#pragma once

#include <span>
#include <vector>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/graph/node.h"
#include "engine/core/tensor.h"

// The arguments of backward() and grad(), checked, as a pass needs them.

namespace lamella::autograd {

/// Where a pass begins, and with what.
struct Root {
  Edge edge;
  Tensor grad;
};

/// One for each output, as backward() describes them. `op` stands in messages.
std::vector<Root> roots_of(std::span<const Tensor> outputs, std::span<const Tensor> grads, const char* op);

/// The edges to the inputs of a call, which keep their nodes alive while it runs.
std::vector<Edge> edges_of(std::span<const GradTarget> inputs, const char* op);

}  // namespace lamella::autograd
