#pragma once

#include <Python.h>

#include "engine/autograd/saved/context.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// What `ctx` is in Python: a pointer to a call's context while there is one, and the user's attributes.
struct ContextObject {
  PyObject_HEAD Context* context;
  PyObject* attributes;
  PyObject* weak_references;
  /// Weak references to saved objects with attributes, and None in the places of others; null where there are none, or
  /// where the tensors come back as the objects that they are.
  PyObject* originals;
};

/// Makes the type lamella.autograd.PyLayerContext.
PyTypeObject* make_context_type();
/// A new object for `context`; a new reference.
PyObject* new_context(Context* context);
/// Cuts the object off its context, which is about to go.
inline void detach_context(PyObject* object) noexcept { reinterpret_cast<ContextObject*>(object)->context = nullptr; }

}  // namespace lamella::python
