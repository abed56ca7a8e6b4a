#include "engine/autograd/node.h"

#include <mutex>
#include <new>
#include <vector>

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

std::shared_ptr<autograd::HookList> Node::tensor_hooks() const {
  const std::lock_guard lock(hooks_lock_);
  return hooks_;
}

std::shared_ptr<autograd::HookList> Node::make_tensor_hooks() {
  const std::lock_guard lock(hooks_lock_);
  if (!hooks_) hooks_ = std::make_shared<autograd::HookList>();
  return hooks_;
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

namespace autograd {

template <class Change>
void HookList::change(Change&& apply) {
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

std::uint64_t HookList::add(std::uint32_t output_nr, TensorHook hook) {
  const std::uint64_t id = next_id_.fetch_add(1, std::memory_order_relaxed);
  change([&](Entries& entries) { entries.push_back({id, output_nr, hook}); });
  return id;
}

void HookList::remove(std::uint64_t id) {
  change([&](Entries& entries) { std::erase_if(entries, [&](const Entry& entry) { return entry.id == id; }); });
}

std::shared_ptr<const HookList::Entries> HookList::entries() const {
  const std::lock_guard lock(lock_);
  return entries_;
}

void HookHandle::remove() {
  if (const auto list = list_.lock()) list->remove(id_);
}

HookHandle register_hook(const Tensor& x, TensorHook hook) {
  if (!x.requires_grad()) {
    fail<RuntimeError>("[register_hook] the tensor has stop_gradient=True: no gradient will ever reach it");
  }
  const Edge edge = gradient_edge(x);
  const std::shared_ptr<HookList> list = edge.node->make_tensor_hooks();
  const std::uint64_t id = list->add(edge.input_nr, std::move(hook));
  return {list, id};
}

}  // namespace autograd
}  // namespace lamella
