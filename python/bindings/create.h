#pragma once

#include <Python.h>

#include <optional>

#include "engine/core/tensor.h"

namespace lamella::python {

/// Says if a new tensor may share the memory of the object that it is made from.
enum class Copy { Always, IfNeeded, Never };

struct CreateOptions {
  /// Name of the called function, for error messages.
  const char* op;
  std::optional<DType> dtype = std::nullopt;
  std::optional<Device> device = std::nullopt;
  Copy copy = Copy::IfNeeded;

  /// Reads dtype and device from Python objects; None leaves them unset.
  void read(PyObject* dtype_object, PyObject* device_object);
  /// Asks for the default device if no device was asked for, and `data` is no array that has one already.
  void default_to_device(PyObject* data);
};

/// Makes a tensor from a number, nested lists, an array, a buffer, a DLPack or `__array__` object, or a tensor.
Tensor create_tensor(PyObject* data, const CreateOptions& options);
/// Makes a tensor from a list or tuple, nested or not; ValueError that names the ragged item.
Tensor tensor_from_sequence(PyObject* sequence, const CreateOptions& options);
/// Makes a 0-d tensor from a Python number; nothing for other objects.
std::optional<Tensor> tensor_from_number(PyObject* number, const CreateOptions& options);

/// Returns the module's functions asarray, tensor, from_numpy, from_dlpack and broadcast_shapes.
PyMethodDef* creation_functions();

}  // namespace lamella::python
