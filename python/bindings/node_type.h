#pragma once

#include <Python.h>

#include "engine/autograd/graph/node.h"

namespace lamella::python {

/// Makes the type lamella.autograd.Node, the type of Tensor.grad_fn.
PyTypeObject* make_node_type();
/// True if a Python object is a node.
bool is_node(PyObject* object) noexcept;
/// Returns the node of an object that is_node(); RuntimeError if it was cleared.
const Ref<Node>& node_of(PyObject* object);
/// Returns the Python object for a node; None for no node.
PyObject* wrap_node(Ref<Node> node);

}  // namespace lamella::python
