#include "python/bindings/visit.h"

#include <any>
#include <mutex>

#include "engine/autograd/accumulate.h"
#include "engine/autograd/meta.h"
#include "python/bindings/hooks.h"
#include "python/bindings/layer_node.h"

namespace lamella::python {
namespace {

/// `hooks` is the caller's copy: beside it there is to be one owner.
int visit_hooks(const std::shared_ptr<autograd::HookList>& hooks, visitproc visit, void* arg) {
  if (!hooks || hooks.use_count() != 2) return 0;
  const auto entries = hooks->entries();
  if (!entries || entries.use_count() != 2) return 0;
  for (const autograd::HookList::Entry& entry : *entries) {
    const auto* hook = entry.hook.target<PythonHook>();
    if (hook && hook->function.use_count() == 1) Py_VISIT(hook->function.get());
  }
  return 0;
}

/// The dict that Node.metadata gives.
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
  if (const int stop = visit_metadata(node, visit, arg)) return stop;
  // A leaf's hooks are the tensor's, not the node's.
  if (dynamic_cast<const autograd::AccumulateGrad*>(&node)) return 0;
  return visit_hooks(node.tensor_hooks(), visit, arg);
}

int visit_tensor(const Tensor& x, visitproc visit, void* arg) {
  autograd::AutogradMeta* meta = autograd::peek_meta(x);
  if (!meta || x->use_count() != 1) return 0;
  std::shared_ptr<autograd::HookList> hooks;
  {
    const std::lock_guard lock(meta->lock);
    if (meta->extras) hooks = meta->extras->hooks;
  }
  if (const int stop = visit_hooks(hooks, visit, arg)) return stop;
  return meta->grad_fn ? visit_node(*meta->grad_fn, visit, arg) : 0;
}

}  // namespace lamella::python
