#pragma once

#include <Python.h>

namespace lamella::python {

/// Casts a function with one of Python's calling conventions to the type that a method table holds.
template <class Function>
PyCFunction as_c_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace lamella::python
