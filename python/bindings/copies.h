#pragma once

#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Returns the module's functions that copying and pickling ask about tensors' memory.
PyMethodDef* copy_functions();

}  // namespace lamella::python
