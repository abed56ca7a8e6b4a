#include "engine/autograd/graph/handover.h"

#include <mutex>

#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/place.h"
#include "engine/core/error.h"

namespace lamella::autograd {

void hand_over(const Tensor& from, const Tensor& to) {
  if (from.grad_fn())
    fail<RuntimeError>("[hand_over] the tensor is the result of a recorded operation, whose place is its own");
  AutogradMeta* const source = peek_meta(from);
  if (!source) return;
  to.set_requires_grad(from.requires_grad());
  AutogradMeta& target = make_meta(to);
  Tensor grad;  // freed after the locks, as that may run code of the host language
  std::unique_ptr<MetaExtras> extras;
  Ref<Node> node;
  {
    const std::lock_guard lock(source->lock);
    if (!source->kept_output) node = source->weak_node.lock();
    std::swap(grad, source->grad);
    std::swap(extras, source->extras);
  }
  const bool fits =
      grad.defined() && grad.shape() == to.shape() && grad.dtype() == to.dtype() && grad.device() == to.device();
  if (extras && extras->presence) {
    const std::lock_guard lock(extras->presence->lock);
    extras->presence->meta = &target;
  }
  auto* const accumulates = dynamic_cast<AccumulateGrad*>(node.get());
  if (accumulates) accumulates->redirect(to);
  const std::lock_guard lock(target.lock);
  if (accumulates) target.weak_node = WeakNode(node);
  if (fits) std::swap(target.grad, grad);
  std::swap(target.extras, extras);
}

}  // namespace lamella::autograd
