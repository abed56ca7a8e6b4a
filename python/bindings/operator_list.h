#pragma once

#include <Python.h>

namespace lamella::python {

/// `_C.operators()`: what the library knows of its operators, as a list of dicts. The tests and the docs are made from
/// it.
PyObject* operator_list(PyObject* module, PyObject* nothing);

}  // namespace lamella::python
