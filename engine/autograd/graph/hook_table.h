#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/autograd/graph/spin_lock.h"
#include "engine/core/tensor.h"

// Tables of hooks, which tensors and nodes have.

namespace lamella::autograd {

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

}  // namespace lamella::autograd
