#pragma once

#include <Python.h>

#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

// numpy is imported when it is first needed, and reached through Python's buffer protocol: nothing of it is linked.

/// True if the object is an array of numpy's. Does not import numpy: false if it was never imported.
bool is_numpy_array(PyObject* object) noexcept;
/// True if the object is a scalar of numpy's (numpy.float32(1)).
bool is_numpy_scalar(PyObject* object) noexcept;
bool is_numpy_bool(PyObject* object) noexcept;
/// Returns the name of a dtype or scalar type of numpy's, for example "float32"; nothing for other objects.
PyRef numpy_dtype_name(PyObject* object);
/// Returns a function of numpy's, which it imports.
PyRef numpy_function(const char* name);

/// Implement the buffer protocol of lm.Tensor.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

/// Implements lm.Tensor.numpy(): a numpy array on x's memory.
PyObject* tensor_to_numpy(PyObject* self);
/// Implements lm.Tensor.__array__(dtype=None, copy=None).
PyObject* tensor_array(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);

/// Returns x; a copy in which true elements are 1 where x is a bool tensor of other libraries' memory with bytes beside
/// 0 and 1, which they take for true and kernels do not expect.
Tensor with_bools_of_one(const Tensor& x);
/// Makes a tensor on the memory of an object with the buffer protocol, which it keeps alive. Sets `shared` to true if
/// it uses that memory; memory that is read-only, unaligned or runs backwards, or holds bools that are neither 0 nor 1,
/// is copied. TypeError that names `op` for
/// dtypes that Lamella does not have.
Tensor tensor_from_buffer(PyObject* object, const char* op, bool& shared);

/// Prepares for handing x's memory to numpy: RuntimeError if that loses a gradient or a tangent, else
/// autograd::note_escape().
void leave_tape(const Tensor& x, const char* op);

/// Returns the only element as a Python number; ValueError if there is not exactly one.
PyObject* tensor_item(const Tensor& x, const char* op);
/// Returns all elements in nested lists; the element itself for a 0-d tensor.
PyObject* tensor_to_list(const Tensor& x);

}  // namespace lamella::python
