#pragma once

#include <Python.h>

#include <vector>

namespace lamella::python {

/// Functions of the module: one for each operator of AllOps.
std::vector<PyMethodDef> operator_functions();
/// Methods of Tensor: those operators that have their tensor first.
std::vector<PyMethodDef> operator_methods();

}  // namespace lamella::python
