#pragma once

#include <Python.h>

namespace lamella::python {

/// Functions of the module that differentiate and check functions written in Python, for lamella.autograd._transforms.
PyMethodDef* transform_functions();

}  // namespace lamella::python
