#pragma once

#include <Python.h>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/graph/hook_table.h"
#include "python/bindings/gil.h"

namespace lamella::python {

// Hooks that call Python functions. The garbage collector sees `function` through the tensor or node that has the hook;
// see Note [What the collector sees] in visit.h.

/// Hook on a tensor that calls a Python function with its gradient.
struct PythonHook {
  SharedObject function;

  Tensor operator()(const Tensor& grad) const;
};

/// Hook on one of several tensors: calls `member`, which in the end calls the user's `function`. Each tensor has a
/// reference of its own to the function, so that each can show it to the collector.
struct PythonMemberHook {
  SharedObject function;
  autograd::TensorHook member;

  Tensor operator()(const Tensor& grad) const { return member(grad); }
};

/// Hook on a leaf, called after its gradient was accumulated.
struct PythonAccumulatedHook {
  SharedObject function;

  void operator()(const Tensor& leaf) const;
};

/// Hook on a node, called before it runs.
struct PythonPreHook {
  SharedObject function;

  std::optional<TensorList> operator()(const TensorList& grad_outputs) const;
};

/// Hook on a node, called after it ran.
struct PythonPostHook {
  SharedObject function;

  std::optional<TensorList> operator()(const TensorList& grad_inputs, const TensorList& grad_outputs) const;
};

/// Makes the type lamella.autograd.HookHandle.
PyTypeObject* make_hook_handle_type();

// The functions below register a Python function as a hook (TypeError if it cannot be called) and return the handle.

/// Implements lm.Tensor.register_hook.
PyObject* register_hook(PyObject* tensor, PyObject* function);
/// Implements lm.Tensor.register_post_accumulate_grad_hook.
PyObject* register_post_accumulate_grad_hook(PyObject* tensor, PyObject* function);
/// Implements lm.autograd.Node.register_prehook.
PyObject* register_prehook(Node& node, PyObject* function);
/// Implements lm.autograd.Node.register_hook.
PyObject* register_posthook(Node& node, PyObject* function);

/// Returns the module's functions register_multi_grad_hook and queue_callback.
PyMethodDef* hook_functions();

}  // namespace lamella::python
