#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the functions that compile and launch kernels of a user's source, for lamella.cuda.
PyMethodDef* source_kernel_functions();

}  // namespace lamella::python
