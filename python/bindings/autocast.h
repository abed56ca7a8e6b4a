#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions for autocast and for deterministic algorithms.
PyMethodDef* autocast_functions();

}  // namespace lamella::python
