#pragma once

#include <Python.h>

#include "engine/core/dtype.h"

namespace lamella::python {

/// Makes the type lamella.DType and its objects.
PyTypeObject* make_dtype_type();
/// Returns the Python object of a dtype, as a new reference.
PyObject* dtype_object(DType dtype) noexcept;
/// Reads the dtype that an object names: a DType, a string, bool, int, float or complex, or a dtype or scalar type of
/// numpy's; false for other objects.
bool as_dtype(PyObject* object, DType& dtype);

}  // namespace lamella::python
