#pragma once

#include <Python.h>

#include "engine/autograd/saved/context.h"
#include "python/bindings/context_object.h"

namespace lamella::python {

/// Makes the type lamella.autograd.PyLayerContext.
PyTypeObject* make_context_type();
/// Returns a new object for `context`, as a new reference.
PyObject* new_context(Context* context);

}  // namespace lamella::python
