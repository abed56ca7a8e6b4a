#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions that differentiate and check Python functions, for lamella.autograd._transforms.
PyMethodDef* transform_functions();

}  // namespace lamella::python
