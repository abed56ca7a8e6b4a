#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions on dtypes: result_type, can_cast, isdtype, and those that finfo and iinfo call.
PyMethodDef* dtype_functions();

}  // namespace lamella::python
