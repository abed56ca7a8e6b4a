#pragma once

#include <Python.h>

#include <span>

#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Python object of lm.Tensor: a handle to the tensor. The handle is undefined in an object whose construction failed,
/// or which the garbage collector has cleared.
struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* weak_references;
};

/// lm.Tensor; set when the module is loaded.
extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) noexcept { return PyObject_TypeCheck(object, tensor_type); }
inline TensorObject* as_object(PyObject* tensor) noexcept { return reinterpret_cast<TensorObject*>(tensor); }

[[noreturn, gnu::cold]] void fail_uninitialized();

/// Returns the tensor of an object that is_tensor(); RuntimeError if it was never initialized.
inline const Tensor& tensor_of(PyObject* object) {
  const Tensor& x = as_object(object)->tensor;
  if (!x.defined()) [[unlikely]]
    fail_uninitialized();
  return x;
}

/// Makes the garbage collector track an object whose tensor has come to hold Python objects (a graph, hooks).
inline void track(PyObject* tensor) noexcept {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

/// Returns the Python object of a tensor, as a new reference; a tensor has one object while somebody holds it. None for
/// an undefined tensor. Null with an exception set on failure.
PyObject* wrap(Tensor x) noexcept;
/// Returns wrap(x) as an owned reference; throws on failure.
PyRef wrap_ref(Tensor x);
/// Returns a tuple of the objects of several tensors; throws on failure.
PyRef wrap_all(std::span<const Tensor> tensors);
/// Makes a new object of a subclass for `x`.
PyObject* wrap_as(PyTypeObject* type, Tensor x);

/// Exchanges the tensors of two Python objects, each of which must have one.
void exchange_tensors(PyObject* a, PyObject* b) noexcept;
/// Returns how often exchange_tensors() was called in this process.
std::uint64_t count_exchanges() noexcept;

/// Implement lm.Tensor's deallocation, and the garbage collector's clearing.
void deallocate_tensor(PyObject* object);
int clear_tensor(PyObject* object);

}  // namespace lamella::python
