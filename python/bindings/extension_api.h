#pragma once

#include <Python.h>

namespace lamella::python {

/// Adds the capsule by which extensions reach Lamella's types; see python/include/lamella/python.h.
void add_extension_api(PyObject* module);

}  // namespace lamella::python
