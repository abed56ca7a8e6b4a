#pragma once

#include <Python.h>

#include "engine/core/tensor.h"

namespace lamella::python {

/// A tensor on the memory of a DLPack capsule, or of an object with `__dlpack__`; BufferError where that cannot be
/// without a copy, and `may_copy` is false.
Tensor tensor_from_dlpack(PyObject* object, const char* op, bool may_copy = true);
/// lm.Tensor.__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None).
PyObject* tensor_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
/// lm.Tensor.__dlpack_device__().
PyObject* tensor_dlpack_device(PyObject* self, PyObject*);

}  // namespace lamella::python
