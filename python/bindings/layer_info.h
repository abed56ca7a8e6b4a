#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// What is known of a PyLayer class. Looked up once per class and again when the class changes.
///
/// The functions are borrowed from the class. A reference to this lasts until Python code runs.
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
  /// The parameters of forward (without ctx): those that positional arguments fill, then those by keyword only.
  std::vector<std::string> names;
  std::size_t positional = 0;
  /// The name of `*args`; empty where forward has none.
  std::string rest;
  /// The parameters' defaults, null for those without, where they were read once and not from `code`.
  std::vector<PyRef> defaults;
#ifdef Py_GIL_DISABLED
  /// The functions, owned.
  std::vector<PyRef> held;
#endif
};

/// Looks a class up. NotImplementedError where it defines no forward.
#ifdef Py_GIL_DISABLED
LayerInfo layer_info(PyTypeObject* layer);  // anew each time: other threads may change the class meanwhile
#else
const LayerInfo& layer_info(PyTypeObject* layer);
#endif

/// The default of forward's parameter `i`; null where it has none, or does not tell.
PyRef default_of(const LayerInfo& info, std::size_t i);

/// lamella.PyLayer itself, whose own forward and backward do not count; set when the module is loaded.
extern PyTypeObject* layer_base;

}  // namespace lamella::python
