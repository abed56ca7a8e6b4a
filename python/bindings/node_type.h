#pragma once

#include <Python.h>

#include "engine/autograd/node.h"

namespace lamella::python {

/// Makes the type lamella.autograd.Node: what Tensor.grad_fn is.
PyTypeObject* make_node_type();
/// A Python object for a node; None for no node.
PyObject* wrap_node(Ref<Node> node);

}  // namespace lamella::python
