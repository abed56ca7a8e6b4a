#pragma once

#include <Python.h>

#include <cstdint>

namespace lamella::python {

/// Returns the int that `x.size` is: called as a function, as in other libraries, it says where the shape is.
PyObject* element_count(std::int64_t count);

}  // namespace lamella::python
