#include "engine/autograd/graph/node.h"

#include "engine/core/modes.h"
#include "engine/core/small_blocks.h"

namespace lamella {

using autograd::detail::NodeHeader;

namespace {

thread_local std::uint64_t next_sequence = 0;
thread_local Node* destroy_queue = nullptr;
thread_local bool destroying = false;

std::atomic<void (*)(Node&)> new_node_observer{nullptr};

}  // namespace

Node::Node() : sequence_(next_sequence++) {
  if (autograd::is_tracing()) [[unlikely]] {
    if (auto* const observer = new_node_observer.load(std::memory_order_relaxed)) observer(*this);
  }
}

void autograd::observe_new_nodes(void (*observer)(Node&)) noexcept {
  new_node_observer.store(observer, std::memory_order_relaxed);
}

std::uint64_t next_node_number() noexcept { return next_sequence; }

Node::~Node() { delete extras_.load(std::memory_order_relaxed); }

autograd::NodeExtras& Node::make_extras() {
  if (auto* made = extras()) return *made;
  auto fresh = std::make_unique<autograd::NodeExtras>();
  autograd::NodeExtras* expected = nullptr;
  // Set before anybody can see the extras, as whoever finds hooks there counts on the flag.
  expect_hooks();
  if (!extras_.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) return *expected;
  return *fresh.release();
}

std::shared_ptr<autograd::HookList> Node::tensor_hooks() const {
  const auto* own = extras();
  return own ? own->tensor_hooks : nullptr;
}

std::shared_ptr<autograd::HookList> Node::make_tensor_hooks() { return make_extras().tensor_hooks; }

void Node::set_hidden_axes(std::uint32_t k, const HiddenAxes& axes) {
  if (!hidden_axes_) hidden_axes_ = std::make_unique<std::vector<HiddenAxes>>();
  if (hidden_axes_->size() <= k) hidden_axes_->resize(k + 1);
  (*hidden_axes_)[k] = axes;
}

void* Node::operator new(std::size_t bytes) {
  const std::size_t total = sizeof(NodeHeader) + bytes;
  auto* header = new (lamella::detail::allocate_block(total)) NodeHeader;
  header->bytes = static_cast<std::uint32_t>(total);
  return header + 1;
}

void Node::operator delete(void* node) noexcept {
  if (node) (static_cast<NodeHeader*>(node) - 1)->release_weak();
}

void NodeHeader::release_weak() noexcept {
  if (weak.load(std::memory_order_acquire) == 1 || weak.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const std::size_t size = bytes;
    this->~NodeHeader();
    lamella::detail::free_block(this, size);
  }
}

void Node::destroy(Node* node) noexcept {
  // A node's destructor drops its edges and saved tensors, which frees more nodes: those wait in the queue instead of
  // nesting.
  if (destroying) {
    Node::header(node)->next_to_destroy = destroy_queue;
    destroy_queue = node;
    return;
  }
  destroying = true;
  while (node) {
    delete node;
    node = destroy_queue;
    if (node) destroy_queue = Node::header(node)->next_to_destroy;
  }
  destroying = false;
}

Ref<Node> WeakNode::lock() const noexcept {
  if (!node_) return {};
  auto& strong = Node::header(node_)->strong;
  std::uint32_t count = strong.load(std::memory_order_acquire);
  while (count != 0) {
    if (strong.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) return Ref<Node>::adopt(node_);
  }
  return {};
}

}  // namespace lamella
