#include "engine/autograd/graph/meta.h"

#include <mutex>

#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/recording/aliases.h"
#include "engine/autograd/trace/departure.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"

namespace lamella {

using autograd::AutogradMeta;
using autograd::get_meta;

namespace autograd {
namespace {

/// What retain_grad() kept of a tensor that is a leaf from here on is the leaf's gradient. The caller holds the lock;
/// the gradient that was there before is to be freed after it.
[[nodiscard]] Tensor keep_as_leaf(AutogradMeta& meta) {
  if (!meta.extras || !meta.extras->retained) return {};
  const std::shared_ptr<RetainedGrad> retained = std::move(meta.extras->retained);
  const std::lock_guard lock(retained->lock);
  return std::exchange(meta.grad, std::move(retained->grad));
}

}  // namespace
}  // namespace autograd

bool Tensor::requires_grad() const {
  const AutogradMeta* meta = get_meta(*this);
  return meta && (meta->requires_grad || meta->grad_fn);
}

const Tensor& Tensor::set_requires_grad(bool value) const {
  AutogradMeta* meta = get_meta(*this);
  if (meta && meta->grad_fn) {
    if (value) return *this;
    fail<RuntimeError>(
        "[stop_gradient] only a leaf's can be set to True: this tensor is the result of a recorded operation; use "
        "detach()");
  }
  if (value && !is_differentiable(dtype())) {
    fail<RuntimeError>("[stop_gradient] only floating and complex tensors can want a gradient, this one is ", dtype());
  }
  if (!value && !meta) return *this;
  if (value && ((*this)->flags & TensorImpl::kInference) && !autograd::is_inference_mode_enabled()) {
    fail<RuntimeError>(
        "[stop_gradient] a tensor made in inference_mode cannot want a gradient outside; use a copy made outside "
        "(clone())");
  }
  AutogradMeta& own = autograd::make_meta(*this);
  if (value && ((*this)->flags & TensorImpl::kTracked)) {
    // A leaf from here on, with values of its own choice: it follows no base.
    (*this)->flags &= static_cast<std::uint8_t>(~TensorImpl::kTracked);
    std::exchange((*this)->base, nullptr)->release();
  }
  if (value && own.kept_output) {
    // Asked for by name: a leaf from here on, and no longer a layer's output.
    const std::lock_guard lock(own.lock);
    own.kept_output = false;
    own.output_nr = 0;
    own.weak_node = WeakNode();
  }
  if (own.extras) {
    Tensor before;
    const std::lock_guard lock(own.lock);
    before = autograd::keep_as_leaf(own);
  }
  own.requires_grad = value;
  if (value && !(*this)->storage->unique()) autograd::note_holder(*this);  // who shares the memory may write to it
  return *this;
}

bool Tensor::is_leaf() const {
  const AutogradMeta* meta = get_meta(*this);
  return !meta || !meta->grad_fn;
}

Tensor Tensor::grad() const {
  AutogradMeta* meta = get_meta(*this);
  if (!meta) return {};
  Tensor grad;
  {
    const std::lock_guard lock(meta->lock);
    if (!meta->extras || !meta->extras->retained) return meta->grad;
    const std::lock_guard retained_lock(meta->extras->retained->lock);
    grad = meta->extras->retained->grad;
  }
  return grad.defined() ? autograd::fit_dead_axes(std::move(grad), (*this)->hidden.get()) : grad;
}

void Tensor::set_grad(Tensor grad) const {
  if (!grad.defined() && !get_meta(*this)) return;
  if (grad.defined()) {
    if (grad.same(*this)) fail<ValueError>("[grad] a tensor cannot be its own gradient");
    if (grad.shape() != shape() || grad.dtype() != dtype() || grad.device() != device()) {
      fail<ValueError>("[grad] expected a gradient like the tensor, ", describe(*this), ", got ", describe(grad));
    }
    if (grad->hidden && !impl_->hidden) {
      fail<RuntimeError>("[grad] the gradient is ", describe(grad),
                         " by vmap: a tensor from outside has no room for one for each example");
    }
  }
  AutogradMeta& meta = autograd::make_meta(*this);
  const std::lock_guard lock(meta.lock);
  if (meta.extras && meta.extras->retained) {
    const std::lock_guard retained_lock(meta.extras->retained->lock);
    std::swap(meta.extras->retained->grad, grad);
    return;
  }
  meta.grad_cleared = !grad.defined() && (meta.grad_cleared || meta.grad.defined());
  std::swap(meta.grad, grad);  // the old one is freed after the lock
}

Ref<Node> Tensor::grad_fn() const {
  const AutogradMeta* meta = get_meta(*this);
  return meta ? meta->grad_fn : Ref<Node>();
}

Tensor Tensor::detach() const {
  Tensor result = make_alias(*this);
  result->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);  // asked for: a constant from here on
  result->flags |= TensorImpl::kDetached;
  // A leaf has no history that a write through the result could contradict.
  if (((*this)->flags & TensorImpl::kTracked) || !autograd::is_unplaced(*this)) {
    if (!is_leaf()) autograd::note_holder(*this);
  }
  if (autograd::is_tracing()) [[unlikely]] {
    const Tensor* const inputs[] = {this};
    autograd::note_departure("detach", inputs, result, autograd::Leaving::Detached);
  }
  return result;
}

namespace autograd {

MetaExtras::~MetaExtras() {
  if (!presence) return;
  const std::lock_guard lock(presence->lock);
  presence->meta = nullptr;
}

void detach_in_place(const Tensor& x) {
  if (x->flags & TensorImpl::kTracked) {
    fail<RuntimeError>(
        "[detach_] a view follows the history of the tensor whose memory it shows, and cannot leave the tape alone; "
        "use detach(), or detach_() on that tensor");
  }
  x->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);
  AutogradMeta* const meta = peek_meta(x);
  if (!meta) return;
  Ref<Node> dropped;  // both freed after the lock: that may run code of the host language
  Tensor before;
  const std::lock_guard lock(meta->lock);
  if (meta->kept_output) meta->weak_node = WeakNode();
  meta->kept_output = false;
  meta->requires_grad = false;
  meta->output_nr = 0;
  std::swap(meta->grad_fn, dropped);
  before = keep_as_leaf(*meta);
}

bool only_traced(AutogradMeta& meta) noexcept {
  if (meta.requires_grad || meta.kept_output || meta.grad_fn) return false;
  const std::lock_guard lock(meta.lock);
  if (meta.grad.defined() || meta.grad_cleared) return false;
  const MetaExtras* extras = meta.extras.get();
  return extras && extras->departure && !extras->hooks && !extras->accumulated_hooks && !extras->retained &&
         extras->tangents.empty();
}

bool detail::special_wants_gradient(const Tensor& x) {
  AutogradMeta* meta = get_meta(x);
  if (meta) {
    if (meta->requires_grad || meta->grad_fn) return true;
    if (!only_traced(*meta)) return meta->kept_output && !meta->weak_node.expired();
  }
  return (x->flags & TensorImpl::kDerived) != 0 && autograd::modes().recorded_backward;
}

AutogradMeta& make_meta(const Tensor& x) {
  if (AutogradMeta* meta = peek_meta(x)) return *meta;
  auto fresh = std::make_unique<AutogradMeta>();
  AutogradMeta* expected = nullptr;
  if (x->meta.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *expected;
}

Edge gradient_edge(const Tensor& x) {
  AutogradMeta* meta = get_meta(x);
  if (meta && meta->grad_fn) return {meta->grad_fn, meta->output_nr};
  if (!meta || (!meta->requires_grad && only_traced(*meta))) {
    const Node* const layer = modes().recorded_backward;
    if (!layer || (x->flags & TensorImpl::kDerived) == 0) return {};
    return {Ref<Node>::adopt(new DetachedIntermediate(*layer)), 0};
  }
  if (meta->kept_output) return {meta->weak_node.lock(), meta->output_nr};
  if (!meta->requires_grad) return {};
  Ref<AccumulateGrad> fresh;
  // Not under the lock: under trace() a new node asks for the host's stack, which may run the host's code.
  if (is_tracing()) [[unlikely]]
    fresh = Ref<AccumulateGrad>::adopt(new AccumulateGrad(x));
  const std::lock_guard lock(meta->lock);
  if (auto node = meta->weak_node.lock()) return {std::move(node), 0};
  if (!fresh) fresh = Ref<AccumulateGrad>::adopt(new AccumulateGrad(x));
  if (meta->extras && meta->extras->hooks) fresh->expect_hooks();
  meta->weak_node = WeakNode(fresh.get());
  return {std::move(fresh), 0};
}

}  // namespace autograd
}  // namespace lamella
