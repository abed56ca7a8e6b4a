#pragma once

#include <Python.h>

namespace lamella::python {

/// Adds the types and functions of lamella.distributed.
void add_distributed(PyObject* module);

/// Returns the class of errors that other processes cause, or null before the module has been filled.
PyObject* distributed_error_type() noexcept;

}  // namespace lamella::python
