#pragma once

#include <Python.h>

#include "engine/autograd/vmap/vmap_rule.h"

namespace lamella::python {

/// Returns the module's functions for lamella.autograd._vmap: they enter and leave a call of vmap, and hide and show
/// axes.
PyMethodDef* vmap_functions();

/// Calls a PyLayer's own rule for vmap with the innermost batched axis shown; see call_rule in lamella.autograd._vmap.
PyObject* call_vmap_rule(PyObject* layer, PyObject* function, const autograd::VmapRule& rule, PyObject* args,
                         PyObject* keywords);

}  // namespace lamella::python
