#pragma once

#include <Python.h>

#include "engine/autograd/saved/context.h"
#include "engine/autograd/saved/saved_tensor_hooks.h"
#include "python/bindings/gil.h"

namespace lamella::python {

/// Pack and unpack hooks for saved tensors that call two Python functions.
class PythonSavedTensorHooks final : public autograd::SavedTensorHooks {
 public:
  PythonSavedTensorHooks(PyObject* pack, PyObject* unpack) : pack_(share_object(pack)), unpack_(share_object(unpack)) {}

  std::any pack(const Tensor& x, const Node& owner) const override;
  Tensor unpack(const std::any& packed, const Node& owner) const override;
  const Tensor* tensor_in(const std::any& packed) const override;

  bool is(PyObject* pack, PyObject* unpack) const noexcept { return pack_.get() == pack && unpack_.get() == unpack; }
  /// Visits the two functions for the garbage collector; the caller is the pair's only owner.
  int visit(visitproc visit, void* arg) const;

 private:
  SharedObject pack_;
  SharedObject unpack_;
};

/// Visits, for the garbage collector, what pack functions returned for the tensors saved in `context`, if nothing else
/// holds it.
int visit_packed(const Context& context, visitproc visit, void* arg);

/// Returns the module's functions that lamella.autograd.saved_tensors_hooks and disable_saved_tensors_hooks call.
PyMethodDef* saved_hooks_functions();

}  // namespace lamella::python
