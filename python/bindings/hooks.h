#pragma once

#include <Python.h>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/graph/hook_table.h"
#include "python/bindings/gil.h"

namespace lamella::python {

// Python functions as hooks. The garbage collector sees `function` through the tensor or the node that the hook is on;
// see Note [What the collector sees] in visit.h.

/// On a tensor.
struct PythonHook {
  SharedObject function;

  Tensor operator()(const Tensor& grad) const;
};

/// On a tensor, for a hook on several: `function` is the user's, which `member` comes to call. Each of the tensors has
/// a reference of its own, so that each can show it to the collector.
struct PythonMemberHook {
  SharedObject function;
  autograd::TensorHook member;

  Tensor operator()(const Tensor& grad) const { return member(grad); }
};

/// On a leaf, after its gradient was added up.
struct PythonAccumulatedHook {
  SharedObject function;

  void operator()(const Tensor& leaf) const;
};

/// On a node, before it runs.
struct PythonPreHook {
  SharedObject function;

  std::optional<TensorList> operator()(const TensorList& grad_outputs) const;
};

/// On a node, after it ran.
struct PythonPostHook {
  SharedObject function;

  std::optional<TensorList> operator()(const TensorList& grad_inputs, const TensorList& grad_outputs) const;
};

/// Makes the type lamella.autograd.HookHandle.
PyTypeObject* make_hook_handle_type();

// Each registers a Python function (TypeError for what cannot be called) and returns the handle.

/// lm.Tensor.register_hook.
PyObject* register_hook(PyObject* tensor, PyObject* function);
/// lm.Tensor.register_post_accumulate_grad_hook.
PyObject* register_post_accumulate_grad_hook(PyObject* tensor, PyObject* function);
/// lm.autograd.Node.register_prehook.
PyObject* register_prehook(Node& node, PyObject* function);
/// lm.autograd.Node.register_hook.
PyObject* register_posthook(Node& node, PyObject* function);

/// lm.autograd.register_multi_grad_hook and queue_callback.
PyMethodDef* hook_functions();

}  // namespace lamella::python
