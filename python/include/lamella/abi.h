#pragma once

#include <Python.h>

#include "engine/core/tensor.h"

#ifndef LAMELLA_ABI_VERSION
#define LAMELLA_ABI_VERSION 1  // another number builds an extension that must not load: that is for tests
#endif

namespace lamella::python {

/// Counts the changes of what extensions see of the engine's layout. An extension built with another number cannot be
/// loaded.
inline constexpr int kAbiVersion = LAMELLA_ABI_VERSION;

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
