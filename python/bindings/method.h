#pragma once

#include <Python.h>

#include <string_view>

#include "python/bindings/errors.h"

namespace lamella::python {

/// Casts a function with one of Python's calling conventions to the type that a method table holds.
template <class Function>
PyCFunction as_c_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

/// Returns the entry of that name in a table that has one and ends with an empty entry.
inline PyMethodDef& method_named(PyMethodDef* table, std::string_view name) {
  while (table->ml_name != name) ++table;
  return *table;
}

/// Makes a type whose instances are of the struct Object. Throws what Python raises.
template <class Object>
PyTypeObject* new_type(const char* name, PyType_Slot* slots, unsigned flags = 0) {
  PyType_Spec spec{
      .name = name, .basicsize = sizeof(Object), .itemsize = 0, .flags = Py_TPFLAGS_DEFAULT | flags, .slots = slots};
  return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
}

}  // namespace lamella::python
