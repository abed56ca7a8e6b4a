#pragma once

#include <Python.h>

#include "engine/autograd/saved/context.h"
#include "python/bindings/py_ref.h"

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

/// Makes the type lamella.autograd.PyLayerContext.
PyTypeObject* make_context_type();
/// Returns a new object for `context`, as a new reference.
PyObject* new_context(Context* context);
/// Clears the object's pointer to its context, which is about to be destroyed.
inline void detach_context(PyObject* object) noexcept { reinterpret_cast<ContextObject*>(object)->context = nullptr; }

}  // namespace lamella::python
