#pragma once

#include <Python.h>

#include "engine/core/tensor.h"
#include "engine/registry/abi.h"

namespace lamella::python {

using lamella::kAbiVersion;

/// Where an extension finds the table below: a capsule in lamella._C.
inline constexpr const char* kAbiCapsule = "lamella._C._extension_api";

/// What lamella._C lends to extensions. The GIL is held at every call.
struct ExtensionApi {
  int abi_version;
  /// The Python object of a tensor; None for an undefined one. Null with an exception set on failure.
  PyObject* (*wrap)(const Tensor& x);
  /// The tensor of a Python object, into `x`. False where the object is no tensor, or was never initialized; no
  /// exception is set.
  bool (*unwrap)(PyObject* object, Tensor& x);
  /// Called while a C++ exception is handled: sets the Python one that it stands for.
  void (*set_error)();
};

}  // namespace lamella::python
