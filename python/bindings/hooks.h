#pragma once

#include <Python.h>

#include "engine/autograd/node.h"
#include "python/bindings/gil.h"

namespace lamella::python {

/// A Python function as a tensor hook.
struct PythonHook {
  SharedObject function;

  Tensor operator()(const Tensor& grad) const;
};

/// Makes the type lamella.autograd.HookHandle.
PyTypeObject* make_hook_handle_type();
/// Registers `function` on `tensor` and returns the handle: lm.Tensor.register_hook.
PyObject* register_hook(PyObject* tensor, PyObject* function);

}  // namespace lamella::python
