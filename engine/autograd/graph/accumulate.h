#pragma once

#include "engine/autograd/graph/node.h"

namespace lamella::autograd {

/// The end of every path: adds what arrives to the leaf's `grad`.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor leaf);
  std::string name() const override { return "AccumulateGrad"; }
  TensorList run(TensorList grads) override;
  /// A leaf's hooks belong to the tensor: this node comes and goes with the graphs that use it.
  std::shared_ptr<HookList> tensor_hooks() const override;
  std::shared_ptr<HookList> make_tensor_hooks() override;
  const Tensor& leaf() const noexcept { return leaf_; }
  using Node::expect_hooks;  // for who makes this the node of a leaf that has hooks already

 private:
  Tensor leaf_;
};

/// Stands for a value that a layer's forward computed off the tape; see Note [Intermediates] in recorder.cc. Running it
/// is an error.
///
/// It has the layer's own edges: what the layer's inputs lead to is what the value may depend on, so that a pass that
/// wants the gradient of one of those comes by here, and another does not.
class DetachedIntermediate final : public Node {
 public:
  explicit DetachedIntermediate(const Node& layer);
  std::string name() const override { return "DetachedIntermediate"; }
  TensorList run(TensorList grads) override;
};

/// Adds a gradient to x's grad. It is cast where its dtype differs; RuntimeError where its shape does. Passes on
/// several threads may do so at once.
void accumulate_grad(const Tensor& x, Tensor incoming);

/// A gradient of something that hides the axes `own` (null for none), with exactly those among the axes of calls of
/// vmap that have ended. What others mapped over is summed, as that something is the same for all of it; where one is
/// missing, the gradient is the same for each example.
Tensor fit_dead_axes(Tensor grad, const HiddenAxes* own);

/// a + b as gradients: reuses the buffer of one that nobody else holds, unless the sum itself is to be recorded.
Tensor add_gradients(Tensor a, Tensor b);

}  // namespace lamella::autograd
