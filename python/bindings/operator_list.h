#pragma once

#include <Python.h>

namespace lamella::python {

/// Implements `_C.operators()`: describes each operator as a dict. The tests and the docs are made from it.
PyObject* operator_list(PyObject* module, PyObject* nothing);

}  // namespace lamella::python
