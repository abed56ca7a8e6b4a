#pragma once

#include <Python.h>

namespace lamella::python {

/// Makes the type lamella.PyLayer.
PyTypeObject* make_layer_type();

}  // namespace lamella::python
