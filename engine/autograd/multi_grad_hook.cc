#include <algorithm>
#include <any>
#include <mutex>

#include "engine/autograd/backward.h"
#include "engine/autograd/hooks.h"
#include "engine/autograd/meta.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

/// The tensors of one hook. It is held by what the tensors hold, so it must hold none of them.
struct Group {
  struct Member {
    /// Of a leaf, whose node comes and goes with the graphs that use it.
    std::shared_ptr<MetaAnchor> leaf;
    /// Of a result.
    WeakNode result;

    /// The node that the member's gradient arrives at; null where there is none now.
    Ref<Node> node() const {
      if (!leaf) return result.lock();
      const std::lock_guard lock(leaf->lock);
      if (!leaf->meta) return {};
      const std::lock_guard meta_lock(leaf->meta->lock);
      return leaf->meta->weak_node.lock();
    }
  };
  std::vector<Member> members;
  MultiGradHook hook;
  MultiGradMode mode;

  /// Which members the running pass will reach.
  std::vector<bool> reached() const {
    std::vector<bool> result;
    // A node may be freed here, by its last user, and its leaf with it: outside of all locks.
    for (const Member& member : members) result.push_back(is_needed(Edge{member.node(), 0}));
    return result;
  }
};

std::shared_ptr<MetaAnchor> anchor_of(const Tensor& x) {
  AutogradMeta& meta = make_meta(x);
  const std::lock_guard lock(meta.lock);
  auto& anchor = meta.make_extras().anchor;
  if (!anchor) {
    anchor = std::make_shared<MetaAnchor>();
    anchor->meta = &meta;
  }
  return anchor;
}

/// What one pass knows of a group.
struct Arrivals {
  std::vector<Tensor> grads;
  std::size_t missing = 0;
  bool done = false;
};

/// One member's hook.
class MemberHook {
 public:
  MemberHook(std::shared_ptr<const Group> group, std::size_t index) : group_(std::move(group)), index_(index) {}

  Tensor operator()(const Tensor& grad) const {
    const Group& group = *group_;
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
    arrivals.grads[index_] = grad;
    --arrivals.missing;
    if (group.mode == MultiGradMode::Any || arrivals.missing == 0) {
      arrivals.done = true;
      const std::vector<Tensor> grads = std::move(arrivals.grads);
      group.hook(grads);
    }
    return {};
  }

 private:
  std::shared_ptr<const Group> group_;
  std::size_t index_;
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
      member.leaf = anchor_of(x);
    } else {
      member.result = WeakNode(x.grad_fn());
    }
    group->members.push_back(std::move(member));
  }
  HookHandle handle;
  for (std::size_t i = 0; i < tensors.size(); ++i) handle.add(register_hook(tensors[i], MemberHook(group, i)));
  return handle;
}

}  // namespace lamella::autograd
