#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include "engine/core/tensor.h"

namespace lamella::python {

/// Makes a tuple type with named items for the results of `op`; it is never freed.
PyTypeObject* named_result_type(const char* op, std::span<const char* const> fields);

/// Makes a tuple of a type from named_result_type(), of as many tensors as the type has fields.
PyObject* named_result(PyTypeObject* type, std::vector<Tensor> tensors);

}  // namespace lamella::python
