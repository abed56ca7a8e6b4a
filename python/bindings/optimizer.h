#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions for optimizer steps over lists of tensors.
PyMethodDef* optimizer_functions();

}  // namespace lamella::python
