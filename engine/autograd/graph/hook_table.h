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

// Tables of the hooks on tensors and nodes.

namespace lamella::autograd {

/// Hook on a tensor: gets the gradient, which a defined result replaces.
using TensorHook = std::function<Tensor(const Tensor& grad)>;
/// Hook on a leaf: gets the leaf after its gradient was accumulated.
using AccumulatedHook = std::function<void(const Tensor& leaf)>;
/// Hook that runs before a node: gets the gradients of the operation's outputs, which a returned list replaces.
using NodePreHook = std::function<std::optional<TensorList>(const TensorList& grad_outputs)>;
/// Hook that runs after a node: gets the gradients of the operation's inputs and outputs; a returned list replaces
/// those of the inputs.
using NodePostHook =
    std::function<std::optional<TensorList>(const TensorList& grad_inputs, const TensorList& grad_outputs)>;

/// Interface through which a handle removes a hook from a table of any kind.
class HookTableBase {
 public:
  virtual ~HookTableBase() = default;
  virtual void remove(std::uint64_t id) = 0;
};

/// Table of hooks of one kind. A pass runs the hooks that are registered when it arrives, in the order of their
/// registration.
template <class Hook>
class HookTable final : public HookTableBase {
 public:
  struct Entry {
    std::uint64_t id;
    /// Number of the node's output that a tensor hook belongs to.
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
  /// Returns the hooks that are registered now; null while there are none.
  std::shared_ptr<const Entries> entries() const {
    const std::lock_guard lock(lock_);
    return entries_;
  }

 private:
  /// Puts a changed copy of the entries in place, so that no hook is copied or freed under the lock.
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

/// Removes hooks from their tables.
class HookHandle {
 public:
  HookHandle() = default;
  HookHandle(std::weak_ptr<HookTableBase> table, std::uint64_t id) { add(std::move(table), id); }
  /// Makes this the handle of further hooks, too.
  void add(std::weak_ptr<HookTableBase> table, std::uint64_t id) { entries_.emplace_back(std::move(table), id); }
  void add(const HookHandle& other) { entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end()); }
  /// Removes the hooks. Does nothing the second time, or after the graph was freed.
  void remove() {
    for (const auto& [table, id] : entries_) {
      if (const auto alive = table.lock()) alive->remove(id);
    }
  }

 private:
  std::vector<std::pair<std::weak_ptr<HookTableBase>, std::uint64_t>> entries_;
};

}  // namespace lamella::autograd
