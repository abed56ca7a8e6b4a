#include "engine/autograd/backward/multi_grad_hook.h"

#include <algorithm>
#include <any>
#include <mutex>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/presence.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

/// Tensors of one hook. They hold the group through their hooks, so it must hold none of them.
struct Group {
  struct Member {
    /// Set for a leaf, whose node comes and goes with the graphs that use it.
    std::shared_ptr<Presence> leaf;
    /// Set for a result of an operation.
    WeakNode node;

    Ref<Node> node_now() const {
      if (!leaf) return node.lock();
      const std::lock_guard lock(leaf->lock);
      if (!leaf->meta) return {};
      const std::lock_guard meta_lock(leaf->meta->lock);
      return leaf->meta->weak_node.lock();
    }
  };
  /// Key of the group in the data of a pass, which keeps it: its address is not used again before the pass ends.
  const std::shared_ptr<const char> key = std::make_shared<const char>();
  std::vector<Member> members;
  MultiGradHook hook;
  MultiGradMode mode = MultiGradMode::All;

  /// Number of members that the running pass will reach.
  std::size_t reached() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(members, [](const Member& member) { return is_needed(Edge{member.node_now(), 0}); }));
  }
};

/// Gradients of a group that have arrived in one pass.
struct Arrivals {
  std::shared_ptr<const char> key;
  std::vector<Tensor> grads;
  std::size_t missing = 0;
  bool done = false;

  void run(const Group& group) {
    done = true;
    const std::vector<Tensor> given = std::move(grads);
    group.hook(given);
  }
};

/// Returns the running pass's arrivals of the group, begun at the first gradient.
Arrivals& arrivals_of(const std::shared_ptr<Group>& group) {
  std::any& slot = pass_data(group->key.get());
  if (slot.has_value()) return *std::any_cast<std::shared_ptr<Arrivals>&>(slot);
  const auto fresh = std::make_shared<Arrivals>(
      Arrivals{.key = group->key, .grads = std::vector<Tensor>(group->members.size()), .missing = group->reached()});
  slot = fresh;
  if (group->mode == MultiGradMode::All) {
    // Runs the hook at the end of the pass, as a gradient that turns out to be none never arrives. Holds the group
    // weakly, as the hook may be removed meanwhile.
    queue_callback([weak = std::weak_ptr(group), fresh] {
      const auto alive = fresh->done ? nullptr : weak.lock();
      if (alive) fresh->run(*alive);
    });
  }
  return *fresh;
}

/// Hook on one of the group's tensors.
struct MemberHook {
  std::shared_ptr<Group> group;
  std::size_t index;

  Tensor operator()(const Tensor& grad) const {
    Arrivals& arrivals = arrivals_of(group);
    if (arrivals.done) return {};
    arrivals.grads[index] = grad;
    if (arrivals.missing > 0) --arrivals.missing;
    if (group->mode == MultiGradMode::Any || arrivals.missing == 0) arrivals.run(*group);
    return {};
  }
};

}  // namespace

HookHandle register_multi_grad_hook(std::span<const Tensor> tensors, MultiGradHook hook, MultiGradMode mode,
                                    const std::function<TensorHook(TensorHook)>& wrap) {
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
      member.leaf = presence_of(x);
    } else {
      member.node = WeakNode(x.grad_fn());
    }
    group->members.push_back(std::move(member));
  }
  HookHandle handle;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TensorHook member = MemberHook{group, i};
    handle.add(register_hook(tensors[i], wrap ? wrap(std::move(member)) : std::move(member)));
  }
  return handle;
}

}  // namespace lamella::autograd
