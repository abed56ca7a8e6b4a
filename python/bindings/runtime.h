#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions for memory, threads, CUDA and the build's configuration.
PyMethodDef* runtime_functions();

}  // namespace lamella::python
