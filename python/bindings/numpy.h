#pragma once

#include <Python.h>

#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

// numpy is imported when it is first needed, and reached through Python's buffer protocol: nothing of it is linked.

/// Whether the object is an array of numpy's. False, without importing it, where numpy was not imported.
bool is_numpy_array(PyObject* object) noexcept;
/// Whether it is a scalar of numpy's (numpy.float32(1)).
bool is_numpy_scalar(PyObject* object) noexcept;
/// The name of a dtype or scalar type of numpy's, for example "float32"; nothing for other objects.
PyRef numpy_dtype_name(PyObject* object);
/// A function of numpy's; imports it.
PyRef numpy_function(const char* name);

/// Buffer protocol of lm.Tensor.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

/// A numpy array on x's memory: lm.Tensor.numpy().
PyObject* tensor_to_numpy(PyObject* self);
/// lm.Tensor.__array__(dtype=None, copy=None).
PyObject* tensor_array(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);

/// A tensor on the memory of an object with the buffer protocol, which it keeps alive. `shared` tells whether it is
/// that memory; memory that is read-only, unaligned or runs backwards is copied. TypeError for dtypes that are not
/// Lamella's, naming `op`.
Tensor tensor_from_buffer(PyObject* object, const char* op, bool& shared);

/// For x's memory given to numpy: RuntimeError where that loses a gradient or a tangent, else autograd::note_escape().
void leave_tape(const Tensor& x, const char* op);

/// The only element as a Python number; ValueError where there is not exactly one.
PyObject* tensor_item(const Tensor& x, const char* op);
/// All elements in nested lists; the element itself for a 0-d tensor.
PyObject* tensor_to_list(const Tensor& x);

}  // namespace lamella::python
