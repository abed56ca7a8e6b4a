#pragma once

#include <Python.h>

#include <vector>

namespace lamella::python {

/// Returns the module's functions for operators, one for each operator of AllOps.
std::vector<PyMethodDef> operator_functions();
/// Returns Tensor's methods for operators: those whose first parameter is a tensor.
std::vector<PyMethodDef> operator_methods();

}  // namespace lamella::python
