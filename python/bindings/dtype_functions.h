#pragma once

#include <Python.h>

namespace lamella::python {

/// Functions of the module on dtypes: result_type, can_cast, isdtype, and what finfo and iinfo tell.
PyMethodDef* dtype_functions();

}  // namespace lamella::python
