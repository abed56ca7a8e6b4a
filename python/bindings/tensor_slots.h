#pragma once

#include <Python.h>

#include <vector>

namespace lamella::python {

/// Appends the slots for arithmetic, comparison and conversion to Python numbers.
void add_number_slots(std::vector<PyType_Slot>& slots);
/// Appends the slots for length, subscripts and iteration.
void add_index_slots(std::vector<PyType_Slot>& slots);
/// Returns the properties.
PyGetSetDef* tensor_attributes();
/// Returns all methods, operators included, and an end mark.
std::vector<PyMethodDef> tensor_methods();

}  // namespace lamella::python
