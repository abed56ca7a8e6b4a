#include "python/bindings/visit.h"

#include <any>
#include <mutex>

#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/meta.h"
#include "python/bindings/checkpoint.h"
#include "python/bindings/hooks.h"
#include "python/bindings/layer_node.h"
#include "python/bindings/saved_hooks.h"

namespace lamella::python {
namespace {

using autograd::HookTable;

/// Returns the Python function of a hook whose type is one of Kinds; null for other hooks.
template <class... Kinds, class Hook>
const SharedObject* function_of(const Hook& hook) {
  const SharedObject* function = nullptr;
  const auto look = [&]<class Kind>(const Kind* kind) {
    if (kind) function = &kind->function;
  };
  (look(hook.template target<Kinds>()), ...);
  return function;
}

/// Visits the Python functions of a hook table. `hooks` is the caller's copy: the table is visited if it has one other
/// owner.
template <class... Kinds, class Hook>
int visit_hooks(const std::shared_ptr<HookTable<Hook>>& hooks, visitproc visit, void* arg) {
  if (!hooks || hooks.use_count() != 2) return 0;
  const auto entries = hooks->entries();
  if (!entries || entries.use_count() != 2) return 0;
  for (const auto& entry : *entries) {
    const SharedObject* function = function_of<Kinds...>(entry.hook);
    if (function && function->use_count() == 1) Py_VISIT(function->get());
  }
  return 0;
}

int visit_tensor_hooks(const std::shared_ptr<autograd::HookList>& hooks, visitproc visit, void* arg) {
  return visit_hooks<PythonHook, PythonMemberHook>(hooks, visit, arg);
}

/// Visits the dict that Node.metadata returns.
int visit_metadata(const Node& node, visitproc visit, void* arg) {
  autograd::NodeExtras* extras = node.extras();
  if (!extras) return 0;
  PyObject* dict = nullptr;
  {
    const std::lock_guard lock(extras->lock);
    const auto* held = std::any_cast<SharedObject>(&extras->host_metadata);
    if (held && held->use_count() == 1) dict = held->get();
  }
  Py_VISIT(dict);
  return 0;
}

}  // namespace

int visit_node(const Node& node, visitproc visit, void* arg) {
  if (node.use_count() != 1) return 0;
  if (const auto* layer = dynamic_cast<const PyLayerNode*>(&node)) {
    if (const int stop = layer->visit(visit, arg)) return stop;
  }
  if (const Context* context = node.context()) {
    if (const int stop = visit_packed(*context, visit, arg)) return stop;
  }
  if (const int stop = visit_metadata(node, visit, arg)) return stop;
  const autograd::NodeExtras* extras = node.extras();
  if (!extras) return 0;
  if (const int stop = visit_hooks<PythonPreHook>(std::shared_ptr(extras->pre_hooks), visit, arg)) return stop;
  if (const int stop = visit_hooks<PythonPostHook>(std::shared_ptr(extras->post_hooks), visit, arg)) return stop;
  // The hooks of a leaf belong to its tensor, not to its node.
  return visit_tensor_hooks(std::shared_ptr(extras->tensor_hooks), visit, arg);
}

int visit_tensor(const Tensor& x, visitproc visit, void* arg) {
  autograd::AutogradMeta* meta = autograd::peek_meta(x);
  if (!meta || x->use_count() != 1) return 0;
  std::shared_ptr<autograd::HookList> hooks;
  std::shared_ptr<HookTable<autograd::AccumulatedHook>> accumulated;
  {
    const std::lock_guard lock(meta->lock);
    if (meta->extras) {
      hooks = meta->extras->hooks;
      accumulated = meta->extras->accumulated_hooks;
    }
  }
  if (const int stop = visit_tensor_hooks(hooks, visit, arg)) return stop;
  if (const int stop = visit_hooks<PythonAccumulatedHook>(accumulated, visit, arg)) return stop;
  if (!meta->grad_fn) return 0;
  if (const int stop = visit_checkpoints(meta->grad_fn, visit, arg)) return stop;
  return visit_node(*meta->grad_fn, visit, arg);
}

}  // namespace lamella::python
