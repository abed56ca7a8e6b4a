#pragma once

#include <Python.h>

#include <span>

#include "engine/core/small_vector.h"
#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

// Note [Outputs of a layer]
// What forward returns goes on the tape as it is only where nobody else holds it: the engine looks at the tensor's
// count, and here the reference counts of its Python object and of every container on the way to it must be 1 as well.
// Such a tensor is handed to the engine where it lies, in its object. Of any other, the engine gets a handle of its
// own, which it may replace; the new tensor then takes the old one's place in the result: in the same container where
// that is exclusively ours, in a copy of it otherwise (forward may have kept a list that it returned, and what it kept
// must not change).

/// Finds the tensors in the result of a layer's forward, and rebuilds the result once the engine has seen them.
class LayerOutputs {
 public:
  /// Takes ownership of the result.
  explicit LayerOutputs(PyRef result);
  LayerOutputs(const LayerOutputs&) = delete;
  LayerOutputs& operator=(const LayerOutputs&) = delete;

  /// Returns pointers to the tensors, in order, for the engine to change.
  std::span<Tensor* const> tensors();
  /// Returns the result with the tensors as the engine left them. Call it once.
  PyRef finish();

 private:
  struct Slot {
    PyObject* object;  ///< borrowed from the result
    bool in_object;    ///< the engine changes the tensor in its object
    Tensor handle;     ///< otherwise this one
  };

  void find(PyObject* value, bool exclusive);
  Slot& next_slot();
  /// Returns the tensor's Python object after the engine's changes.
  PyRef settle(Slot& slot);
  PyRef rebuild(PyRef value, bool exclusive);
  PyRef rebuild_parts(PyRef value, bool exclusive);

  PyRef result_;
  SmallVector<Slot, 2> slots_;
  SmallVector<Tensor*, 2> pointers_;
  std::size_t next_ = 0;
};

}  // namespace lamella::python
