#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions for operators of the OneFlow dialect: calls by name, kernels and definitions in
/// Python, and queries.
PyMethodDef* user_op_functions();

}  // namespace lamella::python
