#include <mutex>

#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/holders.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/trace/departure.h"
#include "engine/core/error.h"
#include "engine/core/listed.h"
#include "engine/core/modes.h"
#include "engine/core/small_blocks.h"
#include "engine/core/tensor.h"

// The members of Tensor that concern its place on the tape, of which engine/core knows nothing.

namespace lamella {

using autograd::AutogradMeta;
using autograd::get_meta;

void TensorImpl::destroy() noexcept {
  if (listed.load(std::memory_order_relaxed)) [[unlikely]]
    detail::unlist(*this);
  delete meta.load(std::memory_order_relaxed);
  Storage* shared = storage;
  TensorImpl* const viewed = base;
  const bool owner = (flags & kView) == 0;
  this->~TensorImpl();
  if (!owner) detail::free_block(this, sizeof(TensorImpl));
  shared->release();
  if (viewed) viewed->release();
}

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
    // Becomes a leaf with values of its own, which follows no base.
    (*this)->flags &= static_cast<std::uint8_t>(~TensorImpl::kTracked);
    std::exchange((*this)->base, nullptr)->release();
  }
  if (value && own.kept_output) {
    // Becomes a leaf, and is no longer a layer's output, as the caller asked for it.
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
  if (value && !(*this)->storage->unique()) autograd::note_holder(*this);  // other owners of the memory may write to it
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
  result->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);  // a constant from here on, as asked for
  result->flags |= TensorImpl::kDetached;
  // Notes no leaf, which has no history that a write through the result could contradict.
  if (((*this)->flags & TensorImpl::kTracked) || !autograd::is_unplaced(*this)) {
    if (!is_leaf()) autograd::note_holder(*this);
  }
  if (autograd::is_tracing()) [[unlikely]] {
    const Tensor* const inputs[] = {this};
    autograd::note_departure("detach", inputs, result, autograd::Leaving::Detached);
  }
  return result;
}

}  // namespace lamella
