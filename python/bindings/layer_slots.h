#pragma once

#include <Python.h>

namespace lamella::python {

/// The functions that have classes of layers find parameters and call forward faster; ends with an empty entry.
PyMethodDef* layer_slot_functions();

}  // namespace lamella::python
