#pragma once

#include <Python.h>

namespace lamella::python {

/// A function with one of Python's calling conventions, as a method table wants it.
template <class Function>
PyCFunction as_c_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace lamella::python
