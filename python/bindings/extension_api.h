#pragma once

#include <Python.h>

namespace lamella::python {

/// Adds to the module what extensions reach Lamella's types by; see python/include/lamella/python.h.
void add_extension_api(PyObject* module);

}  // namespace lamella::python
