#pragma once

#include <Python.h>

namespace lamella::python {

/// Functions of the module for autocast and for deterministic algorithms.
PyMethodDef* autocast_functions();

}  // namespace lamella::python
