#pragma once

#include <memory>

#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/node.h"
#include "engine/autograd/graph/spin_lock.h"
#include "engine/core/small_blocks.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

struct Departure;
struct Missed;

/// The derivative of a tensor along the direction of one level of forward mode; see Note [Duals] in duals.h.
struct Tangent {
  std::uint64_t level = 0;
  /// Shared by aliases, emptied when the level ends; null for a tensor that has none although its base has.
  std::shared_ptr<Tensor> value;
  /// How many writes in place have moved this tangent; for a view, of those into its base, how many it has seen.
  std::uint32_t writes = 0;
};

/// The gradient that retain_grad() keeps. It is the tensor's; the node that fills it refers to it weakly.
struct RetainedGrad {
  SpinLock lock;
  Tensor grad;
  HookHandle handle;
};

struct AutogradMeta;

/// Tells those who may outlive a tensor whether its meta is still there; `meta` is read, and used, under the lock.
struct Presence {
  SpinLock lock;
  AutogradMeta* meta = nullptr;
};

/// Rarely needed state of a tensor, allocated on first use.
struct MetaExtras {
  MetaExtras() = default;
  ~MetaExtras();
  MetaExtras(const MetaExtras&) = delete;
  MetaExtras& operator=(const MetaExtras&) = delete;

  /// A leaf's hooks.
  std::shared_ptr<HookList> hooks;
  std::shared_ptr<HookTable<AccumulatedHook>> accumulated_hooks;
  std::shared_ptr<RetainedGrad> retained;
  /// Of a leaf that a hook on several tensors asks after.
  std::shared_ptr<Presence> presence;
  /// In the order of their levels.
  SmallVector<Tangent, 1> tangents;
  /// Where and why the tensor is off the tape, as far as that was written down.
  std::shared_ptr<const Departure> departure;
  /// Why the last backward pass brought this leaf no gradient, as far as that was written down.
  std::shared_ptr<const Missed> missed;
};

/// A tensor's place on the tape. Only tensors that are, or were, on one have it.
struct AutogradMeta {
  SpinLock lock;  // guards grad, weak_node and extras, which backward passes on other threads touch
  /// A leaf that wants a gradient.
  bool requires_grad = false;
  /// weak_node is the op that this tensor left; see Note [Kept outputs] in recorder.cc.
  bool kept_output = false;
  /// A gradient was here, and the user dropped it.
  bool grad_cleared = false;
  /// Which output of grad_fn (or of a kept output's node) this tensor is.
  std::uint32_t output_nr = 0;
  Ref<Node> grad_fn;
  /// A leaf's AccumulateGrad node, or a kept output's node.
  WeakNode weak_node;
  Tensor grad;
  std::unique_ptr<MetaExtras> extras;

  /// To be called under the lock.
  MetaExtras& make_extras() {
    if (!extras) extras = std::make_unique<MetaExtras>();
    return *extras;
  }

  static void* operator new(std::size_t bytes) { return lamella::detail::allocate_block(bytes); }
  static void operator delete(void* meta) noexcept { lamella::detail::free_block(meta, sizeof(AutogradMeta)); }
};

/// Whether there is nothing in it but what trace() wrote down.
bool only_traced(AutogradMeta& meta) noexcept;
/// Makes what retain_grad() kept the gradient of a leaf, which the tensor is from here on, and returns the gradient
/// that was there before, to be freed after the lock. To be called under the lock.
[[nodiscard]] Tensor keep_as_leaf(AutogradMeta& meta);
/// The tensor's meta, made where it has none.
AutogradMeta& make_meta(const Tensor& x);
/// As it stands, also where that is out of date.
inline AutogradMeta* peek_meta(const Tensor& x) noexcept { return x->meta.load(std::memory_order_acquire); }
/// Whether x neither is nor was on the tape. That the reason was written down changes nothing.
inline bool is_unplaced(const Tensor& x) noexcept {
  AutogradMeta* meta = peek_meta(x);
  return !meta || only_traced(*meta);
}

}  // namespace lamella::autograd
