#pragma once

#include <Python.h>

namespace lamella::python {

/// Makes the type lm.Tensor with the operators' methods beside its own.
PyTypeObject* make_tensor_type();

}  // namespace lamella::python
