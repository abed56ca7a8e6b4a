#pragma once

#include <memory>

#include "engine/autograd/modes.h"
#include "engine/autograd/node.h"
#include "engine/autograd/spin_lock.h"
#include "engine/core/small_blocks.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// A tensor's place on the tape. Only tensors that are, or were, on one have it.
struct AutogradMeta {
  SpinLock lock;  // guards grad, weak_node and hooks, which backward passes on other threads touch
  /// A leaf that wants a gradient.
  bool requires_grad = false;
  /// weak_node is the op that this tensor left; see Note [Kept outputs] in recorder.cc.
  bool kept_output = false;
  /// Which output of grad_fn (or of a kept output's node) this tensor is.
  std::uint32_t output_nr = 0;
  Ref<Node> grad_fn;
  /// A leaf's AccumulateGrad node, or a kept output's node.
  WeakNode weak_node;
  Tensor grad;
  std::shared_ptr<HookList> hooks;

  static void* operator new(std::size_t bytes) { return lamella::detail::allocate_block(bytes); }
  static void operator delete(void* meta) noexcept { lamella::detail::free_block(meta, sizeof(AutogradMeta)); }
};

/// The tensor's meta, made where it has none.
AutogradMeta& make_meta(const Tensor& x);
inline AutogradMeta* get_meta(const Tensor& x) noexcept { return x->meta.load(std::memory_order_acquire); }

/// Where x's gradient goes: its node, or (for a leaf that wants one) the node that accumulates it; an empty edge
/// otherwise.
Edge gradient_edge(const Tensor& x);

/// Whether a recorded op with x as its input needs an edge for it; the question on the hot path.
inline bool wants_gradient(const Tensor& x) noexcept {
  const AutogradMeta* meta = get_meta(x);
  if (meta) return meta->requires_grad || meta->grad_fn || (meta->kept_output && !meta->weak_node.expired());
  return (x->flags & TensorImpl::kDerived) != 0 && modes().recorded_backward;
}

}  // namespace lamella::autograd
