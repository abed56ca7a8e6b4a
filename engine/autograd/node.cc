#include "engine/autograd/node.h"

#include <algorithm>
#include <new>

#include "engine/autograd/meta.h"
#include "engine/core/error.h"
#include "engine/core/small_blocks.h"

namespace lamella {

using autograd::detail::NodeHeader;

namespace {

[[gnu::tls_model("initial-exec")]] thread_local std::uint64_t next_sequence = 0;
[[gnu::tls_model("initial-exec")]] thread_local Node* destroy_queue = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool destroying = false;

}  // namespace

Node::Node() : sequence_(next_sequence++) {}

Node::~Node() = default;

autograd::NodeHooks& Node::make_hooks() {
  if (!hooks_) hooks_ = std::make_unique<autograd::NodeHooks>();
  return *hooks_;
}

std::shared_ptr<autograd::HookList> Node::tensor_hooks() const { return hooks_ ? hooks_->tensor_hooks : nullptr; }

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
  // A node's destructor drops its edges and saved tensors, which frees more nodes: those wait in the queue instead of nesting.
  if (destroying) {
    node->header()->next_to_destroy = destroy_queue;
    destroy_queue = node;
    return;
  }
  destroying = true;
  while (node) {
    delete node;
    node = destroy_queue;
    if (node) destroy_queue = node->header()->next_to_destroy;
  }
  destroying = false;
}

Ref<Node> WeakNode::lock() const noexcept {
  if (!node_) return {};
  auto& strong = node_->header()->strong;
  std::uint32_t count = strong.load(std::memory_order_acquire);
  while (count != 0) {
    if (strong.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) return Ref<Node>::adopt(node_);
  }
  return {};
}

namespace autograd {

void HookHandle::remove() {
  if (const auto list = list_.lock()) {
    std::erase_if(list->entries, [&](const HookList::Entry& entry) { return entry.id == id_; });
  }
}

HookHandle register_hook(const Tensor& x, TensorHook hook) {
  if (!x.requires_grad()) {
    fail<RuntimeError>("[register_hook] the tensor has stop_gradient=True: no gradient will ever reach it");
  }
  std::shared_ptr<HookList> list;
  std::uint32_t output_nr = 0;
  if (const Edge edge = gradient_edge(x); x.is_leaf()) {
    AutogradMeta& meta = *x->meta.load();
    if (!meta.hooks) meta.hooks = std::make_shared<HookList>();
    list = meta.hooks;
  } else {
    list = edge.node->make_hooks().tensor_hooks;
    output_nr = edge.input_nr;
  }
  const std::uint64_t id = list->next_id++;
  list->entries.push_back({id, output_nr, std::move(hook)});
  return {list, id};
}

}  // namespace autograd
}  // namespace lamella
