#pragma once

#include <atomic>
#include <forward_list>

#include "engine/autograd/graph/node.h"

namespace lamella::autograd {

/// Node at the end of every path: adds the gradient that arrives to the leaf's `grad`.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor leaf);
  std::string name() const override { return "AccumulateGrad"; }
  TensorList run(TensorList grads) override;
  /// Returns the leaf's hooks. They belong to the tensor, as this node comes and goes with the graphs that use it.
  std::shared_ptr<HookList> tensor_hooks() const override;
  std::shared_ptr<HookList> make_tensor_hooks() override;
  const Tensor& leaf() const noexcept { return *leaf_.load(std::memory_order_acquire); }
  /// Has gradients go to another leaf from now on. Passes on other threads may run at once, but no other call of this.
  void redirect(const Tensor& leaf);
  using Node::expect_hooks;  // gradient_edge() makes nodes of leaves that have hooks already

 private:
  Tensor first_;
  std::forward_list<Tensor> later_;  // all of them, as a pass on another thread may be using the one before
  std::atomic<const Tensor*> leaf_{&first_};
};

/// Stands for a value that a layer's forward computed off the tape; see Note [Intermediates] in recorder.cc. Running it
/// is an error.
///
/// Has the layer's own edges, as the value may depend on whatever the layer's inputs lead to: a pass that wants a
/// gradient there reaches this node, and another pass does not.
class DetachedIntermediate final : public Node {
 public:
  explicit DetachedIntermediate(const Node& layer);
  std::string name() const override { return "DetachedIntermediate"; }
  TensorList run(TensorList grads) override;
};

/// Adds a gradient to x's grad, cast where its dtype differs. RuntimeError where its shape differs. Passes on several
/// threads may call it at once.
void accumulate_grad(const Tensor& x, Tensor incoming);

/// Returns a gradient of a tensor that hides the axes `own` (null for none), with exactly those among the axes of calls
/// of vmap that have ended. Other such axes are summed, as the tensor is the same for all examples; a missing one is
/// broadcast, as the gradient is the same for each example.
Tensor fit_dead_axes(Tensor grad, const HiddenAxes* own);

/// Returns a + b. Reuses the buffer of a gradient that nobody else holds, unless the sum is recorded or levels of
/// forward mode are active.
Tensor add_gradients(Tensor a, Tensor b);

}  // namespace lamella::autograd
