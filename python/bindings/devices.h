#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions for devices of extensions: their name, the current device, streams.
PyMethodDef* device_functions();

}  // namespace lamella::python
