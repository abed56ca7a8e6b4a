#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/autograd/graph/spin_lock.h"
#include "engine/core/small_vector.h"
#include "engine/core/tensor.h"

namespace lamella {

/// Gradients, in the order of a node's outputs or inputs; an undefined tensor stands for "no gradient".
using TensorList = SmallVector<Tensor, 2>;

namespace autograd {

/// On a tensor: gets the gradient; a defined result takes its place.
using TensorHook = std::function<Tensor(const Tensor& grad)>;
/// On a leaf, after its gradient was accumulated: gets the leaf.
using AccumulatedHook = std::function<void(const Tensor& leaf)>;
/// On a node, before it runs: gets the gradients of the operation's outputs; a list takes their place.
using NodePreHook = std::function<std::optional<TensorList>(const TensorList& grad_outputs)>;
/// On a node, after it ran: gets the gradients of the operation's inputs and outputs; a list takes the place of the
/// former.
using NodePostHook =
    std::function<std::optional<TensorList>(const TensorList& grad_inputs, const TensorList& grad_outputs)>;

/// What a handle needs to know of a table of hooks.
class HookTableBase {
 public:
  virtual ~HookTableBase() = default;
  virtual void remove(std::uint64_t id) = 0;
};

/// Hooks of one kind. A pass runs those that were there when it arrived, in the order of their registration.
template <class Hook>
class HookTable final : public HookTableBase {
 public:
  struct Entry {
    std::uint64_t id;
    /// Which output of the node a tensor hook belongs to.
    std::uint32_t output_nr;
    Hook hook;
  };
  using Entries = std::vector<Entry>;

  std::uint64_t add(std::uint32_t output_nr, Hook hook) {
    const std::uint64_t id = next_id_.fetch_add(1, std::memory_order_relaxed);
    change([&](Entries& entries) { entries.push_back({id, output_nr, hook}); });
    return id;
  }
  void remove(std::uint64_t id) override {
    change([&](Entries& entries) { std::erase_if(entries, [&](const Entry& entry) { return entry.id == id; }); });
  }
  /// The hooks of now; null while there are none.
  std::shared_ptr<const Entries> entries() const {
    const std::lock_guard lock(lock_);
    return entries_;
  }

 private:
  /// Puts a changed copy of the entries in place: nobody's hook is copied or freed under the lock.
  template <class Change>
  void change(Change&& apply) {
    while (true) {
      const std::shared_ptr<const Entries> before = entries();
      auto after = std::make_shared<Entries>(before ? *before : Entries());
      apply(*after);
      std::shared_ptr<const Entries> replacement = after->empty() ? nullptr : std::move(after);
      const std::lock_guard lock(lock_);
      if (entries_ == before) {
        entries_.swap(replacement);
        return;
      }
    }
  }

  mutable SpinLock lock_;
  std::shared_ptr<const Entries> entries_;
  std::atomic<std::uint64_t> next_id_{0};
};

using HookList = HookTable<TensorHook>;

/// Takes hooks away again.
class HookHandle {
 public:
  HookHandle() = default;
  HookHandle(std::weak_ptr<HookTableBase> table, std::uint64_t id) { add(std::move(table), id); }
  /// One handle for several hooks.
  void add(std::weak_ptr<HookTableBase> table, std::uint64_t id) { entries_.emplace_back(std::move(table), id); }
  void add(const HookHandle& other) { entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end()); }
  /// Removing twice, or after the graph was freed, does nothing.
  void remove() {
    for (const auto& [table, id] : entries_) {
      if (const auto alive = table.lock()) alive->remove(id);
    }
  }

 private:
  std::vector<std::pair<std::weak_ptr<HookTableBase>, std::uint64_t>> entries_;
};

/// Registers a hook on the gradient of `x`, which must want one (RuntimeError). It runs before the gradient is
/// accumulated or passed on, and before x's gradient is captured by grad().
HookHandle register_hook(const Tensor& x, TensorHook hook);
/// Registers a hook that runs each time after a gradient was added to the grad of the leaf `x`, which must want one
/// (RuntimeError): the place for an optimizer's step during the pass.
HookHandle register_post_accumulate_grad_hook(const Tensor& x, AccumulatedHook hook);
/// Registers a hook that runs before `node` does; RuntimeError for a null node.
HookHandle register_prehook(Node& node, NodePreHook hook);
/// Registers a hook that runs after `node` did.
HookHandle register_posthook(Node& node, NodePostHook hook);

/// When a hook on several tensors runs.
enum class MultiGradMode : std::uint8_t {
  /// Once in a pass, when the gradients of all tensors that the pass reaches are there.
  All,
  /// Once in a pass, at the first gradient.
  Any,
};
/// Gets the gradients in the order of the tensors; undefined for those that the pass does not reach. With
/// MultiGradMode::Any all but one are undefined.
using MultiGradHook = std::function<void(const std::vector<Tensor>& grads)>;
/// Registers one hook on several tensors, each of which must want a gradient (RuntimeError). Those whose gradient a
/// pass finds to be none (a layer returned nothing for it) are not waited for beyond the pass's end: the hook runs
/// there, before callbacks queued later. `wrap`, where given, makes what is registered on each tensor from what would
/// be, so that a host language can tie objects of its own to it.
HookHandle register_multi_grad_hook(std::span<const Tensor> tensors, MultiGradHook hook,
                                    MultiGradMode mode = MultiGradMode::All,
                                    const std::function<TensorHook(TensorHook member)>& wrap = {});

/// Keeps the gradient of a result of a recorded operation in its grad, as a leaf's is kept. RuntimeError where x wants
/// none; nothing happens for a leaf.
void retain_grad(const Tensor& x);
/// Whether retain_grad() was called for x, and x is still the result of a recorded operation.
bool retains_grad(const Tensor& x);

}  // namespace autograd
}  // namespace lamella
