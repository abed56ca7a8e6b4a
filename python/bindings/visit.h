#pragma once

#include <Python.h>

#include "engine/autograd/graph/node.h"
#include "engine/core/tensor.h"

namespace lamella::python {

// Note [What the collector sees]
// A tensor's Python object shows the garbage collector what the tensor owns: its hooks, and the context and hooks
// of the node that computed it; one step, and each only where nobody else owns it. The collector subtracts what it is
// shown from the reference counts: were it shown an object that some C++ owner holds as well, it would take it for
// unreachable and clear it under that owner's hands.

/// Visits the Python objects that only this tensor keeps alive, if the caller's handle is its only owner.
int visit_tensor(const Tensor& x, visitproc visit, void* arg);
/// Visits the Python objects of a node that has one owner.
int visit_node(const Node& node, visitproc visit, void* arg);

}  // namespace lamella::python
