#include "engine/autograd/hooks.h"

#include <algorithm>
#include <mutex>

#include "engine/autograd/accumulate.h"
#include "engine/autograd/backward.h"
#include "engine/autograd/hook_calls.h"
#include "engine/autograd/meta.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

void check_replacement(const Tensor& given, const Tensor& grad, const char* op) {
  if (given.shape() == grad.shape() && given.device() == grad.device()) return;
  fail<ValueError>("[", op, "] a hook returned ", describe(given), " for a gradient that is ", describe(grad));
}

void run_table(const HookList& table, TensorList& grads) {
  const auto entries = table.entries();
  if (!entries) return;
  for (const HookList::Entry& entry : *entries) {
    Tensor& grad = grads[entry.output_nr];
    if (!grad.defined()) continue;
    if (Tensor changed = entry.hook(grad); changed.defined()) {
      check_replacement(changed, grad, "register_hook");
      grad = std::move(changed);
    }
  }
}

void replace(TensorList& grads, TensorList given, const char* op) {
  if (given.size() != grads.size()) {
    fail<ValueError>("[", op, "] a hook returned ", given.size(), " gradients in the place of ", grads.size());
  }
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (given[i].defined() && grads[i].defined()) check_replacement(given[i], grads[i], op);
  }
  grads = std::move(given);
}

/// A pass fills `retained` from now on, as long as the node lives.
void attach(const AutogradMeta& meta, const std::shared_ptr<RetainedGrad>& retained) {
  const auto& table = meta.grad_fn->make_extras().retaining;
  const std::uint64_t id = table->add(meta.output_nr, [retained](const Tensor& grad) -> Tensor {
    Tensor before;
    {
      const std::lock_guard lock(retained->lock);
      before = retained->grad;
    }
    Tensor sum = before.defined() ? add_gradients(before, grad) : grad;
    const std::lock_guard lock(retained->lock);
    std::swap(retained->grad, sum);
    return {};
  });
  retained->handle = HookHandle(table, id);
}

void check_wants(const Tensor& x, const char* op) {
  if (!x.defined()) fail<ValueError>("[", op, "] got an undefined tensor");
  if (!x.requires_grad()) {
    fail<RuntimeError>("[", op, "] the tensor has stop_gradient=True: no gradient will ever reach it");
  }
}

}  // namespace

void run_tensor_hooks(const Node& node, TensorList& grads) {
  if (const auto hooks = node.tensor_hooks()) run_table(*hooks, grads);
  if (const NodeExtras* extras = node.extras()) run_table(*extras->retaining, grads);
}

void run_node_pre_hooks(const Node& node, TensorList& grads) {
  const NodeExtras* extras = node.extras();
  const auto entries = extras ? extras->pre_hooks->entries() : nullptr;
  if (!entries) return;
  for (const auto& entry : *entries) {
    if (auto changed = entry.hook(grads)) replace(grads, std::move(*changed), "register_prehook");
  }
}

bool has_post_hooks(const Node& node) {
  const NodeExtras* extras = node.extras();
  return extras && extras->post_hooks->entries();
}

void run_node_post_hooks(const Node& node, TensorList& results, const TensorList& incoming) {
  const auto entries = node.extras()->post_hooks->entries();
  if (!entries) return;
  results.resize(node.edges().size());
  for (const auto& entry : *entries) {
    if (auto changed = entry.hook(results, incoming)) replace(results, std::move(*changed), "register_hook");
  }
}

HookHandle register_hook(const Tensor& x, TensorHook hook) {
  check_wants(x, "register_hook");
  const Edge edge = gradient_edge(x);
  const std::shared_ptr<HookList> table = edge.node->make_tensor_hooks();
  const std::uint64_t id = table->add(edge.input_nr, std::move(hook));
  return {table, id};
}

HookHandle register_post_accumulate_grad_hook(const Tensor& x, AccumulatedHook hook) {
  check_wants(x, "register_post_accumulate_grad_hook");
  if (!x.is_leaf()) {
    fail<RuntimeError>(
        "[register_post_accumulate_grad_hook] only leaves accumulate a gradient, and this tensor is the result of a "
        "recorded operation; use register_hook");
  }
  AutogradMeta& meta = make_meta(x);
  std::shared_ptr<HookTable<AccumulatedHook>> table;
  {
    const std::lock_guard lock(meta.lock);
    auto& own = meta.make_extras().accumulated_hooks;
    if (!own) own = std::make_shared<HookTable<AccumulatedHook>>();
    table = own;
  }
  const std::uint64_t id = table->add(0, std::move(hook));
  return {table, id};
}

HookHandle register_prehook(Node& node, NodePreHook hook) {
  const auto& table = node.make_extras().pre_hooks;
  return {table, table->add(0, std::move(hook))};
}

HookHandle register_posthook(Node& node, NodePostHook hook) {
  const auto& table = node.make_extras().post_hooks;
  return {table, table->add(0, std::move(hook))};
}

void retain_grad(const Tensor& x) {
  check_wants(x, "retain_grad");
  if (x.is_leaf()) return;
  AutogradMeta& meta = make_meta(x);
  auto retained = std::make_shared<RetainedGrad>();
  {
    const std::lock_guard lock(meta.lock);
    auto& own = meta.make_extras().retained;
    if (own) return;
    own = retained;
  }
  attach(meta, retained);
}

bool retains_grad(const Tensor& x) {
  AutogradMeta* meta = get_meta(x);
  if (!meta) return false;
  const std::lock_guard lock(meta->lock);
  return meta->extras && meta->extras->retained;
}

void move_retained_grad(const Tensor& x) {
  AutogradMeta* meta = peek_meta(x);
  std::shared_ptr<RetainedGrad> retained;
  {
    const std::lock_guard lock(meta->lock);
    if (!meta->extras || !meta->extras->retained) return;
    retained = meta->extras->retained;
  }
  retained->handle.remove();
  if (meta->grad_fn) attach(*meta, retained);
}

}  // namespace lamella::autograd
