#pragma once

#include "python/bindings/py_ref.h"

namespace lamella::python {

/// What copying and pickling tensors needs to know of their memory.
PyMethodDef* copy_functions();

}  // namespace lamella::python
