#pragma once

#include <Python.h>

#include <span>

#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

// Note [Likenesses]
// What a user set on a Parameter (or another subclass of Tensor) is in its Python object. Where another tensor comes in
// the Parameter's place, a saved one that went through hooks or an argument of a checkpoint's second call, it gets an
// object of the same class that shares the original's attributes, as long as the original lives: writing one of them is
// seen there as well.

/// A tuple with a weak reference to each object of a subclass of Tensor, and None in the places of others; null where
/// there is none.
PyRef weak_references_to(std::span<PyObject* const> objects);
/// An object of `original`'s class and with its attributes for `x`. Where x has an object of another class, the result
/// is for a tensor off the tape with x's memory.
PyRef wrap_like(PyObject* original, Tensor x);
/// A tuple of the objects of `tensors`, like those of `originals` (from weak_references_to()) that live.
PyRef wrap_all_like(PyObject* originals, std::span<const Tensor> tensors);

}  // namespace lamella::python
