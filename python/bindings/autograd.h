#pragma once

#include <Python.h>

namespace lamella::python {

/// Implements lm.Tensor.backward(grad=None, retain_graph=None, create_graph=False, inputs=None).
PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
/// Returns the module's functions grad, backward and _gradient_edge.
PyMethodDef* autograd_functions();
/// Returns the module's functions for forward mode.
PyMethodDef* forward_ad_functions();

/// Makes the types no_grad, enable_grad, set_grad_enabled and inference_mode and adds them to the module.
void add_grad_modes(PyObject* module);

}  // namespace lamella::python
