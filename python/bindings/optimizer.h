#pragma once

#include <Python.h>

namespace lamella::python {

/// Steps of optimizers over lists of tensors.
PyMethodDef* optimizer_functions();

}  // namespace lamella::python
