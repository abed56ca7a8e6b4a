#include "engine/autograd/backward/lent.h"

#include <cstring>
#include <utility>

#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/listed.h"
#include "engine/core/modes.h"

namespace lamella::autograd {

Tensor detail::lend_shared(const Tensor& g) {
  if (!g->data || g.numel() == 0) return g;
  // Lends no tensor whose elements share memory, as a write into it is refused.
  if (!g.is_contiguous() && !g->hidden && overlaps_itself(g.shape(), g.strides())) return g;
  // A copy of a few numbers costs less than a loan, and nobody has to copy it again.
  constexpr std::size_t kFewBytes = 1024;
  if (g.nbytes() <= kFewBytes && g.is_contiguous() && g.device().is_cpu() && !is_grad_enabled() && !duals_active()) {
    const Tensor copy = empty(g.shape(), g.dtype());
    std::memcpy(copy->data, g->data, g.nbytes());
    copy->flags |= g->flags & (TensorImpl::kDerived | TensorImpl::kInference);
    return copy;
  }
  Edge edge;
  if (is_grad_enabled()) {
    edge = gradient_edge(g);
    if (edge && g.is_leaf()) return g;  // a write into a leaf is refused
  }
  Tensor lent = lamella::detail::lend_memory(g);
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
  lamella::detail::Loan& loan = lamella::detail::loan_of(storage);
  const auto bytes = static_cast<std::int64_t>(loan.bytes);
  const NoGrad off;
  const Tensor before = from_memory(loan.low, Dims{bytes}, Dims{1}, DType::UInt8, storage.device, nullptr, nullptr);
  const Tensor copy = primitives().clone(before);
  const std::ptrdiff_t distance = copy->data - loan.low;
  if (loan.first) loan.first->data += distance;
  for (TensorImpl* view : loan.views) view->data += distance;
  storage.data = copy->data;
  copy->storage->retain();
  std::exchange(loan.owner, copy->storage)->release();
  loan.low = copy->data;
  storage.clear_mark(Storage::kLent);
}

LentGradients::LentGradients(const TensorList& own) {
  for (const Tensor& g : own) lent_.push_back(g.defined() ? lend(g) : Tensor());
}

void LentGradients::settle(TensorList& own) const {
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].defined()) own[i] = after_loan(lent_[i], own[i]);
  }
}

void LentGradients::settle_returned(TensorList& returned, const TensorList& own) const {
  for (Tensor& x : returned) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (x.defined() && own[i].defined() && x.same(lent_[i])) x = after_loan(lent_[i], own[i]);
    }
  }
}

}  // namespace lamella::autograd
