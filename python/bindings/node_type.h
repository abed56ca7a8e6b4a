#pragma once

#include <Python.h>

#include "engine/autograd/graph/node.h"

namespace lamella::python {

/// Makes the type lamella.autograd.Node: what Tensor.grad_fn is.
PyTypeObject* make_node_type();
/// Whether a Python object is a node.
bool is_node(PyObject* object) noexcept;
/// The node of an object that is one; RuntimeError where it was cleared.
const Ref<Node>& node_of(PyObject* object);
/// A Python object for a node; None for no node.
PyObject* wrap_node(Ref<Node> node);

}  // namespace lamella::python
