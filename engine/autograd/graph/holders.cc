#include "engine/autograd/graph/holders.h"

#include "engine/autograd/graph/meta.h"
#include "engine/core/listed.h"

namespace lamella::autograd {

Holding holding_of(const TensorImpl& x) noexcept {
  const AutogradMeta* const meta = x.meta.load(std::memory_order_acquire);
  if (!meta) return Holding::Nothing;
  if (meta->grad_fn || (meta->kept_output && !meta->weak_node.expired())) return Holding::Result;
  return meta->requires_grad ? Holding::Leaf : Holding::Nothing;
}

void note_holder(const Tensor& x) {
  TensorImpl* const root = root_of(x);
  if (root->listed.load(std::memory_order_relaxed) && root->storage->has_mark(Storage::kDeparted)) return;
  if (holding_of(*root) == Holding::Nothing) return;
  lamella::detail::list(*root);
  root->storage->set_mark(Storage::kDeparted);
}

}  // namespace lamella::autograd
