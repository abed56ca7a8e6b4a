#pragma once

#include <Python.h>

#include <vector>

namespace lamella::python {

/// Arithmetic, comparison and conversion to Python numbers.
void add_number_slots(std::vector<PyType_Slot>& slots);
/// Length, subscripts, iteration.
void add_index_slots(std::vector<PyType_Slot>& slots);
/// Properties.
PyGetSetDef* tensor_attributes();
/// All methods, those of the operators included, with an end mark.
std::vector<PyMethodDef> tensor_methods();

}  // namespace lamella::python
