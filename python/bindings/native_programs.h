#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions for the compilation of fused programs.
PyMethodDef* native_program_functions();

/// Warns of what went wrong in compiling since the last call, each a RuntimeWarning.
void tell_native_problems();

}  // namespace lamella::python
