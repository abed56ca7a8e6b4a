#pragma once

#include <Python.h>

#include <span>

#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

// Note [Likenesses]
// Attributes that a user set on a Parameter (or another subclass of Tensor) live in its Python object. Where a tensor
// takes the Parameter's place, a saved one that went through hooks or an argument of a checkpoint's second call, it
// gets an object of the same class that shares the original's attributes, as long as the original lives: writing one of
// them is seen there as well.

/// Returns a tuple with a weak reference to each object of a subclass of Tensor, and None in the places of others; null
/// if there is no such object.
PyRef weak_references_to(std::span<PyObject* const> objects);
/// Wraps x in an object of `original`'s class that shares its attributes. If x has an object of another class, the
/// result holds a detached tensor on x's memory.
PyRef wrap_like(PyObject* original, Tensor x);
/// Returns a tuple of the objects of `tensors`, each like its original (from weak_references_to()) if that still lives.
PyRef wrap_all_like(PyObject* originals, std::span<const Tensor> tensors);

}  // namespace lamella::python
