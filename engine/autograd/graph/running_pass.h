#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "engine/autograd/graph/node.h"

// Questions of code that a backward pass runs (a layer's backward, a hook, the second run of a checkpoint) to the pass.

namespace lamella::autograd {

/// Part of a backward pass that others may ask about; see Note [Passes] in engine/autograd/backward/backward.cc.
class RunningPass {
 public:
  RunningPass(const RunningPass&) = delete;
  RunningPass& operator=(const RunningPass&) = delete;

  /// Returns the pass that runs on this thread; null where none does.
  static RunningPass* current() noexcept { return current_; }

  std::uint64_t id() const noexcept { return id_; }
  /// True if the pass is for all leaves, not for named inputs.
  bool is_for_all_leaves() const noexcept { return everything_; }
  /// True if the node lies between the pass's roots and something that it computes.
  bool needs(Node* node) const {
    const auto reached = [](const Scratch& notes) { return notes.needed && notes.visited; };
    if (node->claimed_by.load(std::memory_order_relaxed) == id_) return reached(node->scratch);
    const auto found = overflow_.find(node);
    return found != overflow_.end() && reached(found->second);
  }
  std::vector<std::function<void()>>& callbacks() { return callbacks_; }
  std::any& data(const void* key) { return data_[key]; }

 protected:
  RunningPass();
  ~RunningPass() = default;

  /// Makes `pass` the one that runs on this thread, and returns the one that did.
  static RunningPass* exchange_current(RunningPass* pass) noexcept { return std::exchange(current_, pass); }

  const std::uint64_t id_;
  bool everything_ = true;
  /// Notes on nodes that another pass has claimed.
  std::unordered_map<Node*, Scratch> overflow_;

 private:
  friend class OutsidePass;
  [[gnu::tls_model("initial-exec")]] static thread_local constinit RunningPass* current_;

  std::vector<std::function<void()>> callbacks_;
  std::map<const void*, std::any> data_;
};

/// True if a pass runs on this thread.
bool is_in_pass() noexcept;
/// True if the pass that runs on this thread wants a gradient along `edge`; outside a pass, true if the edge leads to a
/// node.
bool is_needed(const Edge& edge) noexcept;
/// Returns the number of the pass that runs on this thread, which no other has; 0 outside a pass.
std::uint64_t current_pass_id() noexcept;
/// True if the pass that runs on this thread is for all leaves, not for named inputs; false outside a pass.
bool pass_is_for_all_leaves() noexcept;
/// Hides the running pass from this thread in a scope whose computations do not belong to it.
class OutsidePass {
 public:
  OutsidePass() noexcept;
  ~OutsidePass();
  OutsidePass(const OutsidePass&) = delete;
  OutsidePass& operator=(const OutsidePass&) = delete;

 private:
  RunningPass* pass_;
};
/// Runs `callback` on this thread at the end of the pass that runs on it now, after all its nodes and in the modes that
/// the pass was called in. Callbacks of a pass that fails are dropped. RuntimeError outside a pass.
void queue_callback(std::function<void()> callback);
/// Returns a place for data that lasts as long as the pass that runs on this thread, under any address as its key.
/// RuntimeError outside a pass.
std::any& pass_data(const void* key);

}  // namespace lamella::autograd
