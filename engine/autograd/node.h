#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/autograd/spin_lock.h"
#include "engine/core/ref.h"
#include "engine/core/small_vector.h"
#include "engine/core/tensor.h"

namespace lamella {

/// Gradients, in the order of a node's outputs or inputs; an undefined tensor stands for "no gradient".
using TensorList = SmallVector<Tensor, 2>;

/// Where a node's gradient goes: to input `input_nr` of `node` (the output `input_nr` of the op that the node belongs
/// to).
struct Edge {
  Ref<Node> node;
  std::uint32_t input_nr = 0;

  explicit operator bool() const noexcept { return static_cast<bool>(node); }
};

namespace autograd {

/// What one backward pass notes on a node. It lies in the node itself, so an ordinary pass needs no table.
struct Scratch {
  std::uint32_t dependencies = 0;
  /// The node lies on a path to something that the pass computes.
  bool needed = false;
  /// The pass returns gradients that arrive at this node (`grad(..., inputs)`).
  bool captured = false;
  SmallVector<Tensor, 1> pending;
};

class HookList;

namespace detail {

/// Lies in front of every node. It outlives the node while weak references exist.
struct alignas(16) NodeHeader {
  std::atomic<std::uint32_t> strong{1};
  std::atomic<std::uint32_t> weak{1};  // all strong references together hold one
  std::uint32_t bytes = 0;
  Node* next_to_destroy = nullptr;

  void release_weak() noexcept;
};

}  // namespace detail
}  // namespace autograd

/// One recorded operation: takes the gradients of its outputs and gives those of its inputs.
///
/// Nodes are counted, and freed iteratively: a chain of a million of them needs no deep stack.
class Node {
 public:
  Node();
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// The op's or the layer's name, as messages and grad_fn show it.
  virtual std::string name() const = 0;
  /// The gradients of all inputs, given those of all outputs (at least one of which is defined).
  virtual TensorList run(TensorList grads) = 0;
  /// Drops what was saved for backward. run() after it raises RuntimeError where it needed that.
  virtual void release_saved() noexcept {}

  const SmallVector<Edge, 2>& edges() const noexcept { return edges_; }
  std::uint32_t output_count() const noexcept { return output_count_; }
  /// Grows with every node that a thread records; passes run larger ones first.
  std::uint64_t sequence() const noexcept { return sequence_; }
  void add_edge(Edge edge) { edges_.push_back(std::move(edge)); }
  void set_output_count(std::uint32_t count) noexcept { output_count_ = count; }

  /// The hooks on the gradients that arrive here; null while there are none.
  virtual std::shared_ptr<autograd::HookList> tensor_hooks() const;
  /// The same, made on first use.
  virtual std::shared_ptr<autograd::HookList> make_tensor_hooks();

  void retain() noexcept { header(this)->strong.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // No shortcut for a sole owner, as tensors have: a weak reference may be locked at this very moment.
    if (header(this)->strong.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }
  std::uint32_t use_count() const noexcept { return header(this)->strong.load(std::memory_order_acquire); }

  static void* operator new(std::size_t bytes);
  static void operator delete(void* node) noexcept;

  /// The running pass that owns `scratch`; 0 when none does. A second, concurrent pass keeps its notes in a table.
  std::atomic<std::uint64_t> claimed_by{0};
  autograd::Scratch scratch;

 protected:
  void set_sequence(std::uint64_t sequence) noexcept { sequence_ = sequence; }

 private:
  friend class WeakNode;
  // Static, because a weak reference asks for it when the node itself is gone.
  static autograd::detail::NodeHeader* header(const Node* node) noexcept {
    return reinterpret_cast<autograd::detail::NodeHeader*>(const_cast<Node*>(node)) - 1;
  }
  static void destroy(Node* node) noexcept;

  SmallVector<Edge, 2> edges_;
  std::uint64_t sequence_;
  std::uint32_t output_count_ = 1;
  mutable autograd::SpinLock hooks_lock_;
  std::shared_ptr<autograd::HookList> hooks_;
};

/// A reference that does not keep its node alive.
class WeakNode {
 public:
  WeakNode() = default;
  explicit WeakNode(const Ref<Node>& node) noexcept : WeakNode(node.get()) {}
  explicit WeakNode(Node* node) noexcept : node_(node) {
    if (node_) Node::header(node_)->weak.fetch_add(1, std::memory_order_relaxed);
  }
  WeakNode(WeakNode&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  WeakNode(const WeakNode&) = delete;
  WeakNode& operator=(WeakNode&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~WeakNode() {
    if (node_) Node::header(node_)->release_weak();
  }
  /// The node, or null where it was freed.
  Ref<Node> lock() const noexcept;
  bool expired() const noexcept { return !node_ || Node::header(node_)->strong.load(std::memory_order_acquire) == 0; }

 private:
  Node* node_ = nullptr;
};

namespace autograd {

/// A tensor hook: gets the gradient; a defined result takes its place.
using TensorHook = std::function<Tensor(const Tensor&)>;

/// A list of hooks that handles can take entries out of. A pass runs those that were there when it arrived.
class HookList {
 public:
  struct Entry {
    std::uint64_t id;
    std::uint32_t output_nr;
    TensorHook hook;
  };
  using Entries = std::vector<Entry>;

  std::uint64_t add(std::uint32_t output_nr, TensorHook hook);
  void remove(std::uint64_t id);
  /// The hooks of now; null while there are none.
  std::shared_ptr<const Entries> entries() const;

 private:
  /// Puts a changed copy of the entries in place: nobody's hook is copied or freed under the lock.
  template <class Change>
  void change(Change&& apply);

  mutable SpinLock lock_;
  std::shared_ptr<const Entries> entries_;
  std::atomic<std::uint64_t> next_id_{0};
};

/// Takes a hook away again.
class HookHandle {
 public:
  HookHandle(std::weak_ptr<HookList> list, std::uint64_t id) : list_(std::move(list)), id_(id) {}
  /// Removing twice, or after the graph was freed, does nothing.
  void remove();

 private:
  std::weak_ptr<HookList> list_;
  std::uint64_t id_;
};

/// Registers a hook on the gradient of `x`, which must want one (RuntimeError). It runs before the gradient is
/// accumulated or passed on.
HookHandle register_hook(const Tensor& x, TensorHook hook);

}  // namespace autograd
}  // namespace lamella
