#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Functions and signature of a PyLayer class, looked up once per class and again when the class changes.
///
/// The functions are borrowed from the class. A reference to a LayerInfo is valid until Python code runs.
struct LayerInfo {
  PyTypeObject* layer = nullptr;
  unsigned version = 0;  ///< of the class, when this was looked up; 0 where Python keeps none
  PyObject* forward = nullptr;
  PyObject* backward = nullptr;       ///< null where the class defines none
  PyObject* setup_context = nullptr;  ///< null where the class defines none
  PyObject* jvp = nullptr;            ///< null where the class defines none
  PyObject* vmap = nullptr;           ///< null where the class defines none
  PyObject* code = nullptr;           ///< of forward, when its parameters were read
  bool once_differentiable = false;
  bool paddle = false;
  const autograd::Dialect* dialect = nullptr;
  /// Parameters of forward (without ctx): those that positional arguments fill, then keyword-only ones.
  std::vector<std::string> names;
  std::size_t positional = 0;
  /// Name of `*args`; empty if forward has none.
  std::string rest;
  /// Defaults of the parameters, null for parameters without. Used only if `code` is null, as they are then read once.
  std::vector<PyRef> defaults;
#ifdef Py_GIL_DISABLED
  /// Owned references to the functions.
  std::vector<PyRef> held;
#endif
};

/// Looks up a class. NotImplementedError if it defines no forward.
#ifdef Py_GIL_DISABLED
LayerInfo layer_info(PyTypeObject* layer);  // looked up at each call: other threads may change the class meanwhile
#else
const LayerInfo& layer_info(PyTypeObject* layer);
#endif

/// Returns the default of forward's parameter `i`; null if it has none or the callable has no signature.
PyRef default_of(const LayerInfo& info, std::size_t i);

/// The class lamella.PyLayer itself, whose own forward and backward do not count as defined; set when the module is
/// loaded.
extern PyTypeObject* layer_base;

}  // namespace lamella::python
