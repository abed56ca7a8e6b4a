#pragma once

#include <Python.h>

namespace lamella::python {

/// Makes the type lamella.Generator.
PyTypeObject* make_generator_type();

/// Returns the module's functions for the default generators: seeds and states.
PyMethodDef* random_functions();

}  // namespace lamella::python
