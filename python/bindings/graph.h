#pragma once

#include <Python.h>

namespace lamella::python {

/// Adds the type of graphs to the module; lamella.graph wraps it.
void add_graph(PyObject* module);

}  // namespace lamella::python
