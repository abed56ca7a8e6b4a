#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/spin_lock.h"
#include "engine/core/ref.h"
#include "engine/core/small_vector.h"
#include "engine/core/tensor.h"

namespace lamella {

class Context;

/// Edge along which a gradient flows: to input `input_nr` of `node`, which is output `input_nr` of the op that the node
/// belongs to.
struct Edge {
  Ref<Node> node;
  std::uint32_t input_nr = 0;

  explicit operator bool() const noexcept { return static_cast<bool>(node); }
};

namespace autograd {

/// Notes of one backward pass on a node. They lie in the node itself, so an ordinary pass needs no table.
struct Scratch {
  std::uint32_t dependencies = 0;
  /// First in the chain of the pass's captures at this node, counted from 1; 0 where nothing is captured.
  std::uint32_t capture = 0;
  /// True if the pass's roots lead to the node.
  bool visited = false;
  /// True if the node lies on a path to something that the pass computes.
  bool needed = false;
  /// True if the pass is to run the node itself: a leaf's AccumulateGrad, named as an input.
  bool target = false;
  SmallVector<Tensor, 1> pending;
};

struct Origin;

/// Rarely needed state of a node, allocated on first use and kept as long as the node.
struct NodeExtras {
  const std::shared_ptr<HookList> tensor_hooks = std::make_shared<HookList>();
  /// Hooks of retain_grad(), which run after the tensor hooks.
  const std::shared_ptr<HookList> retaining = std::make_shared<HookList>();
  const std::shared_ptr<HookTable<NodePreHook>> pre_hooks = std::make_shared<HookTable<NodePreHook>>();
  const std::shared_ptr<HookTable<NodePostHook>> post_hooks = std::make_shared<HookTable<NodePostHook>>();
  SpinLock lock;  // guards the members below
  /// Data that the user notes on the node.
  std::map<std::string, std::any> metadata;
  /// Data that the host language notes on the node.
  std::any host_metadata;
  /// Place where the operation was called, as far as it was noted.
  std::shared_ptr<const Origin> origin;
};

namespace detail {

/// Header in front of every node, which outlives the node while weak references exist.
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
/// Counts references. Nodes are freed iteratively: a chain of a million of them needs no deep stack.
class Node {
 public:
  Node();
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Returns the op's or the layer's name, as messages and grad_fn show it.
  virtual std::string name() const = 0;
  /// Returns the gradients of all inputs, given those of all outputs (at least one of which is defined).
  virtual TensorList run(TensorList grads) = 0;
  /// Drops the tensors saved for backward. run() raises RuntimeError afterwards where it needs them.
  virtual void release_saved() noexcept {}

  const SmallVector<Edge, 2>& edges() const noexcept { return edges_; }
  std::uint32_t output_count() const noexcept { return output_count_; }
  /// Number that grows with every node that a thread records; passes run larger ones first.
  std::uint64_t sequence() const noexcept { return sequence_; }
  void add_edge(Edge edge) { edges_.push_back(std::move(edge)); }
  void set_edge(std::size_t i, Edge edge) { edges_[i] = std::move(edge); }
  void set_output_count(std::uint32_t count) noexcept { output_count_ = count; }

  /// Returns the axes that output `k` hides under vmap; null where it hides none.
  const HiddenAxes* hidden_axes(std::uint32_t k) const noexcept {
    return hidden_axes_ && k < hidden_axes_->size() ? &(*hidden_axes_)[k] : nullptr;
  }
  /// Notes the axes that y, output `k` of the op, hides.
  void note_hidden_axes(std::uint32_t k, const Tensor& y) {
    if (y->hidden) [[unlikely]]
      set_hidden_axes(k, *y->hidden);
  }

  /// Returns the context of a layer's call; null for nodes that have none.
  virtual const Context* context() const noexcept { return nullptr; }
  /// True if the node's layer was called with a tangent at a level of forward mode that is not hidden now.
  virtual bool was_called_dual() const noexcept { return false; }

  /// True if a pass has to look for hooks.
  bool may_have_hooks() const noexcept { return may_have_hooks_.load(std::memory_order_acquire); }
  /// Returns the rarely needed state; null before its first use.
  autograd::NodeExtras* extras() const noexcept { return extras_.load(std::memory_order_acquire); }
  /// Returns the rarely needed state, allocated on first use. Any thread may call it.
  autograd::NodeExtras& make_extras();
  /// Returns the hooks on the gradients that arrive here; null while there are none.
  virtual std::shared_ptr<autograd::HookList> tensor_hooks() const;
  /// Returns the hooks on the gradients that arrive here, made on first use.
  virtual std::shared_ptr<autograd::HookList> make_tensor_hooks();

  void retain() noexcept { header(this)->strong.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // No shortcut for a sole owner, as tensors have: a weak reference may be locked at this very moment.
    if (header(this)->strong.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }
  std::uint32_t use_count() const noexcept { return header(this)->strong.load(std::memory_order_acquire); }

  static void* operator new(std::size_t bytes);
  static void operator delete(void* node) noexcept;

  /// Number of the running pass that owns `scratch`; 0 when none does. A second, concurrent pass keeps its notes in a
  /// table.
  std::atomic<std::uint64_t> claimed_by{0};
  autograd::Scratch scratch;

 protected:
  void set_sequence(std::uint64_t sequence) noexcept { sequence_ = sequence; }
  void expect_hooks() noexcept { may_have_hooks_.store(true, std::memory_order_release); }

 private:
  friend class WeakNode;
  // Static, because a weak reference asks for it when the node itself is gone.
  static autograd::detail::NodeHeader* header(const Node* node) noexcept {
    return reinterpret_cast<autograd::detail::NodeHeader*>(const_cast<Node*>(node)) - 1;
  }
  static void destroy(Node* node) noexcept;
  void set_hidden_axes(std::uint32_t k, const HiddenAxes& axes);

  SmallVector<Edge, 2> edges_;
  std::uint64_t sequence_;
  std::uint32_t output_count_ = 1;
  std::atomic<bool> may_have_hooks_{false};
  std::atomic<autograd::NodeExtras*> extras_{nullptr};
  std::unique_ptr<std::vector<HiddenAxes>> hidden_axes_;
};

/// Reference that does not keep its node alive.
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
  /// Returns the node, or null where it was freed.
  Ref<Node> lock() const noexcept;
  bool expired() const noexcept { return !node_ || Node::header(node_)->strong.load(std::memory_order_acquire) == 0; }

 private:
  Node* node_ = nullptr;
};

/// Returns the number that the next node of this thread gets, which its sequence() tells.
std::uint64_t next_node_number() noexcept;

namespace autograd {

/// Sets the function that is called with each node that is made while its thread is_tracing(). Only the node's base is
/// there at that time.
void observe_new_nodes(void (*observer)(Node&)) noexcept;

}  // namespace autograd

}  // namespace lamella
