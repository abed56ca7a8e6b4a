#include "engine/autograd/backward/hooks.h"

#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/meta.h"

#include <mutex>

#include "engine/autograd/backward/lent.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/retained_grad.h"
#include "engine/autograd/saved/context.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

/// True if a node casts the gradients that arrive, or leaves the cast to its backward on purpose.
bool takes_any_dtype(const Node& node) { return node.context() && !node.context()->output_metas.empty(); }

/// Returns the gradient that a hook gave, cast to the dtype of the gradient that it replaces unless `any_dtype` is set.
/// ValueError for another shape or device, TypeError for a complex gradient in the place of a real one.
Tensor conform(Tensor given, const TensorMeta& wanted, bool any_dtype, const char* op) {
  if (given.shape() != wanted.shape || given.device() != wanted.device) {
    fail<ValueError>("[", op, "] a hook returned ", describe(given), " for a gradient that is ", wanted.dtype,
                     wanted.shape, " on ", wanted.device);
  }
  if (given.dtype() == wanted.dtype || any_dtype) return given;
  if (is_complex(given.dtype()) && !is_complex(wanted.dtype)) {
    fail<TypeError>("[", op, "] a hook returned ", given.dtype(), " for a gradient that is ", wanted.dtype,
                    "; return its real part");
  }
  return primitives().cast(given, wanted.dtype);
}

void run_table(const Node& node, const HookList& table, TensorList& grads) {
  const auto entries = table.entries();
  if (!entries) return;
  for (const HookList::Entry& entry : *entries) {
    Tensor& grad = grads[entry.output_nr];
    if (!grad.defined()) continue;
    const UserScope user;
    const Tensor lent = lend(grad);
    Tensor changed = entry.hook(lent);
    // Passes on what the hook wrote into its argument; other owners of the gradient keep what they had.
    if (!changed.defined() || changed.same(lent)) {
      grad = after_loan(lent, grad);
    } else {
      grad = conform(std::move(changed), TensorMeta(grad), takes_any_dtype(node), "register_hook");
    }
  }
}

/// Gives the gradients to the hooks of retain_grad(), which copy them.
void keep_retained(const HookList& table, const TensorList& grads) {
  const auto entries = table.entries();
  if (!entries) return;
  for (const HookList::Entry& entry : *entries) {
    if (grads[entry.output_nr].defined()) entry.hook(grads[entry.output_nr]);
  }
}

/// Replaces gradients by those that a hook returned. `metas` may describe the tensors that the gradients belong to:
/// only then is a gradient taken where there was none, as its shape and dtype are known.
void replace(TensorList& grads, TensorList given, const SmallVector<TensorMeta, 1>* metas, bool any_dtype,
             const char* op) {
  if (given.size() != grads.size()) {
    fail<ValueError>("[", op, "] a hook returned ", given.size(), " gradients in the place of ", grads.size());
  }
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (!given[i].defined()) continue;
    if (grads[i].defined()) {
      given[i] = conform(std::move(given[i]), TensorMeta(grads[i]), any_dtype, op);
    } else if (metas && metas->size() == grads.size()) {
      given[i] = conform(std::move(given[i]), (*metas)[i], any_dtype, op);
    } else {
      fail<ValueError>("[", op, "] a hook returned a gradient, number ", i,
                       ", where there was none, for an operation that does not keep the shapes of its tensors");
    }
  }
  grads = std::move(given);
}

void check_wants(const Tensor& x, const char* op) {
  if (!x.defined()) fail<ValueError>("[", op, "] got an undefined tensor");
  if (!x.requires_grad()) {
    fail<RuntimeError>("[", op, "] the tensor has stop_gradient=True: no gradient will ever reach it");
  }
}

}  // namespace

void run_tensor_hooks(const Node& node, TensorList& grads) {
  if (const auto hooks = node.tensor_hooks()) run_table(node, *hooks, grads);
  if (const NodeExtras* extras = node.extras()) keep_retained(*extras->retaining, grads);
}

void run_node_pre_hooks(const Node& node, TensorList& grads) {
  const NodeExtras* extras = node.extras();
  const auto entries = extras ? extras->pre_hooks->entries() : nullptr;
  if (!entries) return;
  const UserScope user;
  for (const auto& entry : *entries) {
    const LentGradients lent(grads);
    if (auto changed = entry.hook(lent.given())) {
      lent.settle_returned(*changed, grads);
      replace(grads, std::move(*changed), node.context() ? &node.context()->output_metas : nullptr,
              takes_any_dtype(node), "Node.register_prehook");
    } else {
      lent.settle(grads);
    }
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
  const UserScope user;
  for (const auto& entry : *entries) {
    const LentGradients lent(results);
    const LentGradients lent_incoming(incoming);
    if (auto changed = entry.hook(lent.given(), lent_incoming.given())) {
      lent.settle_returned(*changed, results);
      lent_incoming.settle_returned(*changed, incoming);
      replace(results, std::move(*changed), node.context() ? &node.context()->input_metas : nullptr, false,
              "Node.register_hook");
    } else {
      lent.settle(results);
    }
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
    retained->grad = std::move(meta.grad);  // the gradient of an earlier backward(inputs=...)
  }
  attach_retained(meta, retained);
}

bool retains_grad(const Tensor& x) {
  AutogradMeta* meta = get_meta(x);
  if (!meta) return false;
  const std::lock_guard lock(meta->lock);
  return meta->grad_fn && meta->extras && meta->extras->retained;
}

}  // namespace lamella::autograd
