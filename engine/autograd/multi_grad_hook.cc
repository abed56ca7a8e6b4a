#include <algorithm>
#include <any>
#include <mutex>

#include "engine/autograd/backward.h"
#include "engine/autograd/hooks.h"
#include "engine/autograd/meta.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

/// The tensors of one hook. It is held by what the tensors hold, so it must hold none of them: a leaf is a bare
/// pointer, which the leaf's own entry clears when it goes.
struct Group {
  struct Member {
    TensorImpl* leaf = nullptr;
    WeakNode node;
  };
  std::mutex mutex;
  std::vector<Member> members;
  MultiGradHook hook;
  MultiGradMode mode;

  /// Which members the running pass will reach.
  std::vector<bool> reached() {
    const std::lock_guard lock(mutex);
    std::vector<bool> result;
    for (const Member& member : members) {
      Ref<Node> node;
      if (member.leaf) {
        AutogradMeta* meta = member.leaf->meta.load(std::memory_order_acquire);
        const std::lock_guard meta_lock(meta->lock);
        node = meta->weak_node.lock();
      } else {
        node = member.node.lock();
      }
      result.push_back(node && is_needed(Edge{node, 0}));
    }
    return result;
  }
};

/// What one pass knows of a group.
struct Arrivals {
  std::vector<Tensor> grads;
  std::size_t missing = 0;
  bool done = false;
};

/// One member's hook; copies share the entry, and the last of them takes the member out of the group.
class MemberHook {
 public:
  MemberHook(std::shared_ptr<Group> group, std::size_t index)
      : entry_(std::make_shared<Entry>(std::move(group), index)) {}

  Tensor operator()(const Tensor& grad) const {
    Group& group = *entry_->group;
    std::any& slot = pass_data(&group);
    if (!slot.has_value()) {
      Arrivals fresh;
      const std::vector<bool> reached = group.reached();
      fresh.grads.resize(reached.size());
      fresh.missing = static_cast<std::size_t>(std::ranges::count(reached, true));
      slot = std::move(fresh);
    }
    auto& arrivals = std::any_cast<Arrivals&>(slot);
    if (arrivals.done) return {};
    arrivals.grads[entry_->index] = grad;
    --arrivals.missing;
    if (group.mode == MultiGradMode::Any || arrivals.missing == 0) {
      arrivals.done = true;
      const std::vector<Tensor> grads = std::move(arrivals.grads);
      group.hook(grads);
    }
    return {};
  }

 private:
  struct Entry {
    Entry(std::shared_ptr<Group> group, std::size_t index) : group(std::move(group)), index(index) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      const std::lock_guard lock(group->mutex);
      group->members[index].leaf = nullptr;
    }
    std::shared_ptr<Group> group;
    std::size_t index;
  };
  std::shared_ptr<Entry> entry_;
};

}  // namespace

HookHandle register_multi_grad_hook(std::span<const Tensor> tensors, MultiGradHook hook, MultiGradMode mode) {
  if (tensors.empty()) fail<ValueError>("[register_multi_grad_hook] needs at least one tensor");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined() || !tensors[i].requires_grad()) {
      fail<RuntimeError>("[register_multi_grad_hook] tensor ", i,
                         " has stop_gradient=True: no gradient will ever reach it");
    }
    const auto same = [&](const Tensor& other) { return other.same(tensors[i]); };
    if (std::ranges::any_of(tensors.first(i), same)) {
      fail<ValueError>("[register_multi_grad_hook] tensor ", i, " was given before; name each tensor once");
    }
  }
  const auto group = std::make_shared<Group>();
  group->hook = std::move(hook);
  group->mode = mode;
  for (const Tensor& x : tensors) {
    Group::Member member;
    if (x.is_leaf()) {
      member.leaf = x.impl();
    } else {
      member.node = WeakNode(x.grad_fn());
    }
    group->members.push_back(std::move(member));
  }
  HookHandle handle;
  for (std::size_t i = 0; i < tensors.size(); ++i) handle.add(register_hook(tensors[i], MemberHook(group, i)));
  return handle;
}

}  // namespace lamella::autograd
