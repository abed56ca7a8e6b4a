#pragma once

#include <Python.h>

#include "engine/runtime/generator.h"
#include "python/bindings/signature.h"

namespace lamella::python {

/// Makes the type lamella.Generator.
PyTypeObject* make_generator_type();

/// Returns the generator of a lamella.Generator, or null for None; TypeError for anything else. It lives as long as the
/// object.
Generator* read_generator(PyObject* object, const Argument& argument);

/// Returns the module's functions for the default generators: seeds and states.
PyMethodDef* random_functions();

}  // namespace lamella::python
