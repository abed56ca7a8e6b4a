#include "engine/autograd/graph/meta.h"

#include <mutex>

namespace lamella::autograd {

MetaExtras::~MetaExtras() {
  if (!presence) return;
  const std::lock_guard lock(presence->lock);
  presence->meta = nullptr;
}

Tensor keep_as_leaf(AutogradMeta& meta) {
  if (!meta.extras || !meta.extras->retained) return {};
  const std::shared_ptr<RetainedGrad> retained = std::move(meta.extras->retained);
  const std::lock_guard lock(retained->lock);
  return std::exchange(meta.grad, std::move(retained->grad));
}

bool only_traced(AutogradMeta& meta) noexcept {
  if (meta.requires_grad || meta.kept_output || meta.grad_fn) return false;
  const std::lock_guard lock(meta.lock);
  if (meta.grad.defined() || meta.grad_cleared) return false;
  const MetaExtras* extras = meta.extras.get();
  return extras && extras->departure && !extras->hooks && !extras->accumulated_hooks && !extras->retained &&
         extras->tangents.empty();
}

AutogradMeta& make_meta(const Tensor& x) {
  if (AutogradMeta* meta = peek_meta(x)) return *meta;
  auto fresh = std::make_unique<AutogradMeta>();
  AutogradMeta* expected = nullptr;
  if (x->meta.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *expected;
}

}  // namespace lamella::autograd
