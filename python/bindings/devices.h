#pragma once

#include <Python.h>

namespace lamella::python {

/// Functions of the module for devices that an extension brings: their name, the current one, streams.
PyMethodDef* device_functions();

}  // namespace lamella::python
