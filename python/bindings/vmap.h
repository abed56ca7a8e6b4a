#pragma once

#include <Python.h>

#include "engine/autograd/vmap/vmap_rule.h"

namespace lamella::python {

/// What lamella._vmap is made of: functions of the module that enter and leave a call of vmap, and hide and show axes.
PyMethodDef* vmap_functions();

/// Calls a PyLayer's own rule for vmap with the innermost batched axis shown; see lamella._vmap.call_rule.
PyObject* call_vmap_rule(PyObject* layer, PyObject* function, const autograd::VmapRule& rule, PyObject* args,
                         PyObject* keywords);

}  // namespace lamella::python
