#pragma once

#include <Python.h>

namespace lamella::python {

/// Makes the type of `lm.ops.ns.name`.
PyTypeObject* make_operator_type();

/// Returns the module's functions for looking operators up, listing them and loading libraries.
PyMethodDef* registry_functions();
/// Returns the module's functions for registering operators and kernels from Python.
PyMethodDef* registration_functions();

}  // namespace lamella::python
