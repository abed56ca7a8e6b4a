#pragma once

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/graph/node.h"

// What a pass does with the hooks that hooks.h registers. Each function is called only for nodes that may have some.

namespace lamella::autograd {

/// Runs the hooks on the gradients that arrive at a node; `grads` has one entry for each output.
void run_tensor_hooks(const Node& node, TensorList& grads);
/// Runs the hooks before the node runs.
void run_node_pre_hooks(const Node& node, TensorList& grads);
/// Runs the hooks after it ran; `incoming` is what it was given.
void run_node_post_hooks(const Node& node, TensorList& results, const TensorList& incoming);
/// Whether anything wants to see the gradients after the node ran.
bool has_post_hooks(const Node& node);
/// Takes what retain_grad() asked for to the node that x comes from now.
void move_retained_grad(const Tensor& x);

}  // namespace lamella::autograd
