#pragma once

#include <Python.h>

namespace lamella::python {

/// The functions of the module that differentiate and check functions written in Python, for lamella._transforms.
PyMethodDef* transform_functions();

}  // namespace lamella::python
