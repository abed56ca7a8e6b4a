#pragma once

#include <Python.h>

#include "engine/autograd/saved/context.h"

namespace lamella::python {

/// Python object `ctx`: a pointer to the context of a call while the call's node lives, and the attributes that the
/// user set.
struct ContextObject {
  PyObject_HEAD Context* context;
  PyObject* attributes;
  PyObject* weak_references;
  /// Weak references to saved objects that have attributes, with None in the places of others. Null if there are none,
  /// or if the tensors are restored as the very objects that were saved.
  PyObject* originals;
};

/// Clears the object's pointer to its context, which is about to be destroyed.
inline void detach_context(PyObject* object) noexcept { reinterpret_cast<ContextObject*>(object)->context = nullptr; }

}  // namespace lamella::python
