#pragma once

#include <Python.h>

namespace lamella::python {

/// Adds the types and functions of lamella.distributed.
void add_distributed(PyObject* module);

}  // namespace lamella::python
