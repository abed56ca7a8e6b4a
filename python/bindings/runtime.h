#pragma once

#include <Python.h>

namespace lamella::python {

/// Functions of the module for memory, threads, CUDA and the build's configuration.
PyMethodDef* runtime_functions();

}  // namespace lamella::python
