#pragma once

#include <Python.h>

#include "engine/core/tensor.h"
#include "engine/registry/abi.h"

namespace lamella::python {

using lamella::kAbiVersion;

/// Name of the capsule in lamella._C that holds the ExtensionApi.
inline constexpr const char* kAbiCapsule = "lamella._C._extension_api";

/// Table of functions that lamella._C exports to extensions. The GIL must be held at every call.
struct ExtensionApi {
  int abi_version;
  /// Returns the Python object of a tensor; None for an undefined one. Null with an exception set on failure.
  PyObject* (*wrap)(const Tensor& x);
  /// Reads the tensor of a Python object into `x`. False if the object is no tensor or was never initialized; no
  /// exception is set.
  bool (*unwrap)(PyObject* object, Tensor& x);
  /// Sets the Python exception for the C++ exception being handled.
  void (*set_error)();
};

}  // namespace lamella::python
