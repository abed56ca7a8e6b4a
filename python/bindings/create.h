#pragma once

#include <Python.h>

#include <optional>

#include "engine/core/tensor.h"

namespace lamella::python {

/// Whether a new tensor may share the memory of what it is made from.
enum class Copy { Always, IfNeeded, Never };

struct CreateOptions {
  /// The function that was called, for messages.
  const char* op;
  std::optional<DType> dtype = std::nullopt;
  std::optional<Device> device = std::nullopt;
  Copy copy = Copy::IfNeeded;

  /// Takes dtype and device as Python gave them (None for none).
  void read(PyObject* dtype_object, PyObject* device_object);
};

/// A tensor from a number, nested lists, an array, a buffer, a DLPack or `__array__` object, or a tensor.
Tensor create_tensor(PyObject* data, const CreateOptions& options);
/// A tensor from a list or tuple, nested or not; ValueError naming the place where it is ragged.
Tensor tensor_from_sequence(PyObject* sequence, const CreateOptions& options);
/// A 0-d tensor from a number of Python's; nothing for other objects.
std::optional<Tensor> tensor_from_number(PyObject* number, const CreateOptions& options);

/// Functions asarray, tensor, from_numpy, from_dlpack and broadcast_shapes of the module.
PyMethodDef* creation_functions();

}  // namespace lamella::python
