#include "engine/autograd/lent.h"

#include <memory>

#include "engine/autograd/duals.h"
#include "engine/autograd/meta.h"
#include "engine/autograd/modes.h"
#include "engine/autograd/primitives.h"
#include "engine/core/listed.h"

namespace lamella::autograd {
namespace {

/// Memory that a lent storage shows: from `low` on, kept by `owner`, of which a reference is held.
struct Shown {
  Storage* owner;
  char* low;
  std::size_t bytes;
};

void free_shown(void* context) {
  const std::unique_ptr<Shown> shown(static_cast<Shown*>(context));
  shown->owner->release();
}

/// The memory from x's lowest element to behind its highest.
std::unique_ptr<Shown> memory_of(const Tensor& x) {
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  char* low = x->data;
  char* high = x->data + item;
  const auto reach = [&](std::int64_t size, std::int64_t stride) {
    const std::int64_t bytes = (size - 1) * stride * item;
    (bytes < 0 ? low : high) += bytes;
  };
  for (std::size_t i = 0; i < x.ndim(); ++i) reach(x.shape()[i], x.strides()[i]);
  if (x->hidden) {
    for (const HiddenAxis& axis : *x->hidden) reach(axis.size, axis.stride);
  }
  x->storage->retain();
  return std::make_unique<Shown>(x->storage, low, static_cast<std::size_t>(high - low));
}

}  // namespace

Tensor lend(const Tensor& g, std::uint32_t holders) {
  if (g->use_count() <= holders && g->storage->unique()) return g;
  if (!g->data || g.numel() == 0) return g;
  Edge edge;
  if (is_grad_enabled()) {
    edge = gradient_edge(g);
    if (edge && g.is_leaf()) return g;  // a write into it is refused
  }
  std::unique_ptr<Shown> shown = memory_of(g);
  Tensor lent = from_memory(g->data, g.shape(), g.strides(), g.dtype(), g.device(), free_shown, shown.get());
  static_cast<void>(shown.release());  // the tensor has it now
  lent->flags |= static_cast<std::uint8_t>(g->flags & (TensorImpl::kDerived | TensorImpl::kInference));
  if (g->hidden) {
    lent->hidden = std::make_unique<HiddenAxes>(*g->hidden);
    lent->contiguous = false;
  }
  if (g->storage->has_mark(Storage::kReadOnly)) lent->storage->set_mark(Storage::kReadOnly);
  lent->storage->set_mark(Storage::kLent);
  lamella::detail::list(*lent.impl());
  if (edge) {
    AutogradMeta& meta = make_meta(lent);
    meta.grad_fn = std::move(edge.node);
    meta.output_nr = edge.input_nr;
  }
  if (duals_active()) [[unlikely]]
    share_tangents(g, lent);
  return lent;
}

void end_loan(Storage& storage) {
  auto& shown = *static_cast<Shown*>(storage.context);
  const auto bytes = static_cast<std::int64_t>(shown.bytes);
  const NoGrad off;
  const Tensor before = from_memory(shown.low, Dims{bytes}, Dims{1}, DType::UInt8, storage.device, nullptr, nullptr);
  const Tensor copy = primitives().clone(before);
  const std::ptrdiff_t distance = copy->data - shown.low;
  lamella::detail::for_each_listed(storage, [&](TensorImpl& x) {
    if (x.data) x.data += distance;
  });
  storage.data = static_cast<char*>(storage.data) + distance;
  copy->storage->retain();
  std::exchange(shown.owner, copy->storage)->release();
  shown.low = copy->data;
  storage.clear_mark(Storage::kLent);
}

LentGradients::LentGradients(TensorList& grads) {
  for (Tensor& grad : grads) {
    if (!grad.defined()) continue;
    Tensor lent = lend(grad);
    if (lent.same(grad)) continue;
    std::swap(lent, grad);
    loans_.push_back({grad, std::move(lent)});
  }
}

TensorList LentGradients::returned(TensorList results) const {
  for (const Loan& loan : loans_) {
    for (Tensor& result : results) {
      if (result.defined() && result.same(loan.lent)) result = after_loan(loan.lent, loan.own);
    }
  }
  return results;
}

}  // namespace lamella::autograd
