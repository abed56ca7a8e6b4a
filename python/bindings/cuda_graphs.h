#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the functions that capture work of CUDA devices and repeat it, for lamella.cuda.
PyMethodDef* graph_capture_functions();

}  // namespace lamella::python
