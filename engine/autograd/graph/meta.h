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

/// Derivative of a tensor along the direction of one level of forward mode; see Note [Duals] in duals.h.
struct Tangent {
  std::uint64_t level = 0;
  /// Values of the tangent, shared by aliases and emptied when the level ends; null for a tensor that has none although
  /// its base has.
  std::shared_ptr<Tensor> value;
  /// Number of writes in place that have moved this tangent; for a view, number of writes into its base that it has
  /// seen.
  std::uint32_t writes = 0;
};

/// Gradient that retain_grad() keeps. The tensor owns it; the node that fills it refers to it weakly.
struct RetainedGrad {
  SpinLock lock;
  Tensor grad;
  HookHandle handle;
};

struct AutogradMeta;

/// Tells owners that may outlive a tensor whether its meta still exists; `meta` is read, and used, under the lock.
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

  /// Hooks on the gradient of a leaf; a result's hooks belong to its node.
  std::shared_ptr<HookList> hooks;
  std::shared_ptr<HookTable<AccumulatedHook>> accumulated_hooks;
  std::shared_ptr<RetainedGrad> retained;
  /// Set where somebody looks the tensor up without keeping it alive; see presence_of().
  std::shared_ptr<Presence> presence;
  /// Tangents in the order of their levels.
  SmallVector<Tangent, 1> tangents;
  /// Place and reason of the tensor's leaving the tape, as far as they were noted.
  std::shared_ptr<const Departure> departure;
  /// Reason why the last backward pass brought this leaf no gradient, as far as it was noted.
  std::shared_ptr<const Missed> missed;
};

/// Place of a tensor on the tape. Only tensors that are or were on the tape, have a tangent or were traced have one.
struct AutogradMeta {
  SpinLock lock;  // guards grad, weak_node and extras, which backward passes on other threads touch
  /// True for a leaf that wants a gradient.
  bool requires_grad = false;
  /// True if weak_node is the node of the op that returned this tensor; see Note [Kept outputs] in recorder.cc.
  bool kept_output = false;
  /// True if the user dropped a gradient that was here.
  bool grad_cleared = false;
  /// Number of the output of grad_fn (or of a kept output's node) that this tensor is.
  std::uint32_t output_nr = 0;
  Ref<Node> grad_fn;
  /// A leaf's AccumulateGrad node, or a kept output's node.
  WeakNode weak_node;
  Tensor grad;
  std::unique_ptr<MetaExtras> extras;

  /// Returns the extras, allocated on first use. To be called under the lock.
  MetaExtras& make_extras() {
    if (!extras) extras = std::make_unique<MetaExtras>();
    return *extras;
  }

  static void* operator new(std::size_t bytes) { return lamella::detail::allocate_block(bytes); }
  static void operator delete(void* meta) noexcept { lamella::detail::free_block(meta, sizeof(AutogradMeta)); }
};

/// True if the meta holds nothing but what trace() noted.
bool only_traced(AutogradMeta& meta) noexcept;
/// Makes the gradient that retain_grad() kept that of a leaf, which the tensor is from here on, and returns the
/// gradient that was there before, to be freed after the lock. To be called under the lock.
[[nodiscard]] Tensor keep_as_leaf(AutogradMeta& meta);
/// Returns the tensor's meta, made where it has none.
AutogradMeta& make_meta(const Tensor& x);
/// Returns the tensor's meta as it stands, also where the place of a tracked view is out of date.
inline AutogradMeta* peek_meta(const Tensor& x) noexcept { return x->meta.load(std::memory_order_acquire); }
/// True if x has no meta, or one that holds nothing but what trace() noted: x neither is nor was on the tape.
inline bool is_unplaced(const Tensor& x) noexcept {
  AutogradMeta* meta = peek_meta(x);
  return !meta || only_traced(*meta);
}

}  // namespace lamella::autograd
