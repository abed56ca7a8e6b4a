#pragma once

#include <Python.h>

#include "engine/core/tensor.h"

namespace lamella::python {

/// Makes a tensor on the memory of a DLPack capsule, or of an object with `__dlpack__`. BufferError if that takes a
/// copy and `may_copy` is false.
Tensor tensor_from_dlpack(PyObject* object, const char* op, bool may_copy = true);
/// Implements lm.Tensor.__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None).
PyObject* tensor_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
/// Implements lm.Tensor.__dlpack_device__().
PyObject* tensor_dlpack_device(PyObject* self, PyObject*);

}  // namespace lamella::python
