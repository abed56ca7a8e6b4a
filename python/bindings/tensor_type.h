#pragma once

#include <Python.h>

#include <span>

#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// What lm.Tensor is in C: a handle. Undefined in an object whose making failed, or that the garbage collector has
/// cleared.
struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* weak_references;
};

/// lm.Tensor; set when the module is loaded.
extern PyTypeObject* tensor_type;
/// Makes the type with these methods beside its own.
PyTypeObject* make_tensor_type();

inline bool is_tensor(PyObject* object) noexcept { return PyObject_TypeCheck(object, tensor_type); }
inline TensorObject* as_object(PyObject* tensor) noexcept { return reinterpret_cast<TensorObject*>(tensor); }

[[noreturn, gnu::cold]] void fail_uninitialized();

/// The tensor of an object that is known to be one; RuntimeError where it was never initialized.
inline const Tensor& tensor_of(PyObject* object) {
  const Tensor& x = as_object(object)->tensor;
  if (!x.defined()) [[unlikely]]
    fail_uninitialized();
  return x;
}

/// Lets the garbage collector look at an object whose tensor has come to hold Python objects (a graph, hooks).
inline void track(PyObject* tensor) noexcept {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

/// The Python object of a tensor: there is one while it lives. None for an undefined tensor. Null with an exception set
/// on failure.
PyObject* wrap(Tensor x) noexcept;
/// The same as an owner; throws.
PyRef wrap_ref(Tensor x);
/// A tuple of the objects of several; throws.
PyRef wrap_all(std::span<const Tensor> tensors);
/// A new object of a subclass for `x`.
PyObject* wrap_as(PyTypeObject* type, Tensor x);

}  // namespace lamella::python
