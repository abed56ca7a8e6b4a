#include "engine/autograd/graph/retained_grad.h"

#include <mutex>

#include "engine/autograd/graph/primitives.h"

namespace lamella::autograd {
namespace {

/// Adds a gradient to the one that is kept. Passes on several threads may call it at once.
void keep(RetainedGrad& retained, const Tensor& grad) {
  while (true) {
    Tensor before;
    {
      const std::lock_guard lock(retained.lock);
      before = retained.grad;
    }
    // Kept as a tensor of its own, as the gradient that flows on may be written to.
    Tensor sum = before.defined() ? primitives().add(before, grad) : primitives().clone(grad);
    const std::lock_guard lock(retained.lock);
    if (!retained.grad.same(before)) continue;
    std::swap(retained.grad, sum);
    return;
  }
}

}  // namespace

void attach_retained(const AutogradMeta& meta, const std::shared_ptr<RetainedGrad>& retained) {
  const auto& table = meta.grad_fn->make_extras().retaining;
  const std::uint64_t id = table->add(meta.output_nr, [weak = std::weak_ptr(retained)](const Tensor& grad) -> Tensor {
    if (const auto kept = weak.lock()) keep(*kept, grad);
    return {};
  });
  retained->handle = HookHandle(table, id);
}

void move_retained_grad(const Tensor& x) {
  AutogradMeta* meta = peek_meta(x);
  std::shared_ptr<RetainedGrad> retained;
  {
    const std::lock_guard lock(meta->lock);
    if (!meta->extras || !meta->extras->retained) return;
    retained = meta->extras->retained;
  }
  retained->handle.remove();
  if (meta->grad_fn) attach_retained(*meta, retained);
}

}  // namespace lamella::autograd
