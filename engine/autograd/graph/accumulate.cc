#include "engine/autograd/graph/accumulate.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {
namespace {

/// True if nobody else can see this gradient's memory and it is laid out as a fresh tensor.
bool is_own(const Tensor& g) {
  return g->use_count() == 1 && !g->hidden && g->storage->unique() && g.is_contiguous() && !g->storage->deleter &&
         (g->flags & TensorImpl::kTracked) == 0;
}

/// True if the gradient may be written to: nobody else sees its memory, and it has no place on the tape.
bool is_stealable(const Tensor& g) { return is_own(g) && is_unplaced(g); }

/// True if the gradient may have a tangent; also true for some that have none.
bool may_be_dual(const Tensor& g) { return !is_unplaced(g) || (g->flags & TensorImpl::kTracked) != 0; }

/// True if the gradient can be added to in place. One that the user has set may be broadcast, read-only or lent.
bool is_writable(const Tensor& g) {
  if (g->storage->has_mark(Storage::kReadOnly | Storage::kLent)) return false;
  return g.is_contiguous() || !overlaps_itself(g.shape(), g.strides());
}

bool hides(const HiddenAxes* axes, std::uint64_t level) {
  return axes && std::ranges::find(*axes, level, &HiddenAxis::level) != axes->end();
}

/// Returns the gradient of x without hidden axes that x does not hide. RuntimeError for an axis of a call of vmap that
/// is under way.
Tensor fit_axes(Tensor grad, const Tensor& x) {
  grad = fit_dead_axes(std::move(grad), x->hidden.get());
  if (!grad->hidden) return grad;
  for (const HiddenAxis& axis : *grad->hidden) {
    if (hides(x->hidden.get(), axis.level)) continue;
    fail<RuntimeError>(
        "[backward] inside of vmap, a tensor from outside has a gradient for each of ", axis.size,
        " examples, which its `grad` cannot hold: use grad(), which returns it, or call backward() after vmap");
  }
  return grad;
}

}  // namespace

AccumulateGrad::AccumulateGrad(Tensor leaf) : first_(std::move(leaf)) {
  // Leaves run first: accumulating their gradients frees the memory that produced them.
  set_sequence(std::numeric_limits<std::uint64_t>::max());
  set_output_count(1);
  note_hidden_axes(0, first_);
}

void AccumulateGrad::redirect(const Tensor& leaf) {
  later_.push_front(leaf);
  leaf_.store(&later_.front(), std::memory_order_release);
}

std::shared_ptr<HookList> AccumulateGrad::tensor_hooks() const {
  AutogradMeta& meta = *peek_meta(leaf());
  const std::lock_guard lock(meta.lock);
  return meta.extras ? meta.extras->hooks : nullptr;
}

std::shared_ptr<HookList> AccumulateGrad::make_tensor_hooks() {
  AutogradMeta& meta = *peek_meta(leaf());
  const std::lock_guard lock(meta.lock);
  expect_hooks();
  auto& hooks = meta.make_extras().hooks;
  if (!hooks) hooks = std::make_shared<HookList>();
  return hooks;
}

Tensor add_gradients(Tensor a, Tensor b) {
  if (!is_grad_enabled() && !duals_active()) {
    const bool alike = a.dtype() == b.dtype() && a.shape() == b.shape() && !a->hidden && !b->hidden;
    if (alike && is_stealable(a)) {
      primitives().add_in_place(a, b);
      return a;
    }
    if (alike && is_stealable(b)) {
      primitives().add_in_place(b, a);
      return b;
    }
  }
  return primitives().add(a, b);
}

TensorList AccumulateGrad::run(TensorList grads) {
  const Tensor& x = leaf();
  AutogradMeta& meta = *peek_meta(x);
  if (!meta.requires_grad) return {};
  accumulate_grad(x, std::move(grads[0]));
  std::shared_ptr<HookTable<AccumulatedHook>> hooks;
  {
    const std::lock_guard lock(meta.lock);
    if (!meta.extras) return {};
    hooks = meta.extras->accumulated_hooks;
  }
  const auto entries = hooks ? hooks->entries() : nullptr;
  if (!entries) return {};
  const UserScope user;
  for (const auto& entry : *entries) entry.hook(x);
  return {};
}

void accumulate_grad(const Tensor& x, Tensor incoming) {
  AutogradMeta& meta = make_meta(x);
  if (incoming->hidden) [[unlikely]]
    incoming = fit_axes(std::move(incoming), x);
  // Hooks may have changed the gradient's shape or dtype, and `grad` always has those of its tensor.
  if (incoming.shape() != x.shape()) {
    fail<RuntimeError>("[backward] a gradient of shape ", incoming.shape(), " arrived at a tensor of shape ",
                       x.shape());
  }
  if (incoming.dtype() != x.dtype()) incoming = primitives().cast(incoming, x.dtype());
  bool copied = false;  // a copy with tangents may be kept, though it has a meta
  const auto may_be_kept = [&] { return copied || (is_grad_enabled() ? is_own(incoming) : is_stealable(incoming)); };
  // Passes on several threads may arrive here at once. Whoever finds a gradient takes it out, adds, and tries again:
  // nothing is computed under the lock, and nothing is lost.
  while (true) {
    Tensor held;
    {
      const std::lock_guard lock(meta.lock);
      if (meta.grad.defined()) {
        held = std::move(meta.grad);
      } else if (may_be_kept()) {
        meta.grad = std::move(incoming);
        return;
      }
    }
    if (!held.defined()) {
      incoming = primitives().clone(incoming);
      copied = true;
      continue;
    }
    // Adds in place also where the user holds x.grad, which stays the same object from step to step.
    const bool in_place = !is_grad_enabled() && is_unplaced(held) && !held->hidden && !incoming->hidden &&
                          held.dtype() == incoming.dtype() && is_writable(held) &&
                          !(duals_active() && may_be_dual(incoming));
    try {
      if (in_place) {
        primitives().add_in_place(held, incoming);
      } else {
        incoming = primitives().add(held, incoming);
      }
    } catch (...) {
      const std::lock_guard lock(meta.lock);
      if (!meta.grad.defined()) meta.grad = std::move(held);
      throw;
    }
    if (!in_place) continue;
    const std::lock_guard lock(meta.lock);
    if (!meta.grad.defined()) {
      meta.grad = std::move(held);
      return;
    }
    std::swap(incoming, held);  // nothing is freed under the lock
  }
}

Tensor fit_dead_axes(Tensor grad, const HiddenAxes* own) {
  const auto& live = thread_state().batch_levels;
  const auto is_dead = [&](const HiddenAxis& axis) { return std::ranges::find(live, axis.level) == live.end(); };
  if (grad->hidden) {
    const HiddenAxes axes = *grad->hidden;
    for (const HiddenAxis& axis : axes) {
      if (is_dead(axis) && !hides(own, axis.level)) grad = primitives().sum_hidden(grad, axis.level);
    }
  }
  if (!own) return grad;
  for (const HiddenAxis& axis : *own) {
    if (!is_dead(axis) || hides(grad->hidden.get(), axis.level)) continue;
    grad = primitives().hide_axis(primitives().show_axis(grad, axis.level, axis.size), axis.level);
  }
  return grad;
}

DetachedIntermediate::DetachedIntermediate(const Node& layer) {
  for (const Edge& edge : layer.edges()) add_edge(edge);
}

TensorList DetachedIntermediate::run(TensorList) {
  fail<RuntimeError>(
      "[backward] a second derivative reached a value that a custom layer computed in forward, where nothing is "
      "recorded: its own "
      "dependence on the inputs is unknown, and the result would be wrong. Save inputs or outputs of the layer "
      "instead, and compute "
      "the value again in backward; or mark backward with once_differentiable");
}

}  // namespace lamella::autograd
