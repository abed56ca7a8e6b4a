#pragma once

#include <Python.h>

namespace lamella::python {

/// Operators of the OneFlow dialect: calls by name, kernels and definitions in Python, and what there is to know of
/// them.
PyMethodDef* user_op_functions();

}  // namespace lamella::python
