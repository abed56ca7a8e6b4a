#pragma once

#include <Python.h>

#include "python/bindings/errors.h"

namespace lamella::python {

/// Casts a function with one of Python's calling conventions to the type that a method table holds.
template <class Function>
PyCFunction as_c_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

/// Makes a type whose instances are of the struct Object. Throws what Python raises.
template <class Object>
PyTypeObject* new_type(const char* name, PyType_Slot* slots, unsigned flags = 0) {
  PyType_Spec spec{
      .name = name, .basicsize = sizeof(Object), .itemsize = 0, .flags = Py_TPFLAGS_DEFAULT | flags, .slots = slots};
  return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
}

}  // namespace lamella::python
