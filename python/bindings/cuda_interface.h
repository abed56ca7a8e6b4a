#pragma once

#include <Python.h>

#include "engine/core/tensor.h"

namespace lamella::python {

/// Returns a tensor on the memory of an object with `__cuda_array_interface__`, on whose stream this thread's current
/// one waits. Throws TypeError or ValueError if it is not what version 3 of that protocol says.
Tensor tensor_from_cuda_interface(PyObject* object, const char* op, bool may_copy);

}  // namespace lamella::python
