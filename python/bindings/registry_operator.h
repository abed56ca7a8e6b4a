#pragma once

#include <Python.h>

namespace lamella::python {

/// Makes the type of `lm.ops.ns.name`.
PyTypeObject* make_operator_type();

/// Functions of the module: looking operators up, listing them, loading libraries.
PyMethodDef* registry_functions();
/// And those for registering from Python.
PyMethodDef* registration_functions();

}  // namespace lamella::python
