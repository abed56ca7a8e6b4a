#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions for CUDA's current device, its streams, events and memory.
PyMethodDef* stream_functions();

}  // namespace lamella::python
