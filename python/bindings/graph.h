#pragma once

#include <Python.h>

namespace lamella::python {

/// Makes the type of graphs, which lamella.graph wraps.
PyTypeObject* make_graph_type();

}  // namespace lamella::python
