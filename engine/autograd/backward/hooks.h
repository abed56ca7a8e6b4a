#pragma once

#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/node.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Registers a hook on the gradient of `x`, which must want one (RuntimeError). It runs before the gradient is
/// accumulated or passed on, and before x's gradient is captured by grad().
HookHandle register_hook(const Tensor& x, TensorHook hook);
/// Registers a hook that runs each time after a gradient was added to the grad of the leaf `x`, which must want one
/// (RuntimeError): the place for an optimizer's step during the pass.
HookHandle register_post_accumulate_grad_hook(const Tensor& x, AccumulatedHook hook);
/// Registers a hook that runs before `node` does.
HookHandle register_prehook(Node& node, NodePreHook hook);
/// Registers a hook that runs after `node` did.
HookHandle register_posthook(Node& node, NodePostHook hook);

/// Keeps the gradient of a result of a recorded operation in its grad, as a leaf's is kept. RuntimeError where x wants
/// none; nothing happens for a leaf.
void retain_grad(const Tensor& x);
/// True if retain_grad() was called for x, and x is still the result of a recorded operation.
bool retains_grad(const Tensor& x);

// Calls of hooks by a pass, made only for nodes that may have some.

/// Runs the hooks on the gradients that arrive at a node; `grads` has one entry for each output.
void run_tensor_hooks(const Node& node, TensorList& grads);
/// Runs the hooks that were registered to run before the node.
void run_node_pre_hooks(const Node& node, TensorList& grads);
/// Runs the hooks that were registered to run after the node; `incoming` are the gradients that it was given.
void run_node_post_hooks(const Node& node, TensorList& results, const TensorList& incoming);
/// True if the node has hooks that run after it.
bool has_post_hooks(const Node& node);

}  // namespace lamella::autograd
