#pragma once

#include <Python.h>

#include "ops/elementwise/elementwise.h"
#include "python/bindings/signature.h"

namespace lamella::python {

/// The functions and methods by which Python calls an elementwise operator whose call is that of its base. Their code
/// is compiled for each number of operands, not for each operator, as that takes long.
struct ElementwiseForm {
  const ElementwiseOp& (*op)();
  const Signature* signature = nullptr;
  const Signature* in_place_signature = nullptr;

  /// Implements f(*operands, out=None); in a method `self` is the first operand, in a function it is null.
  template <int kInputs>
  PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) const noexcept;
  /// Implements f_(*operands), which overwrites the first one with the result.
  template <int kInputs>
  PyObject* call_in_place(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) const noexcept;
};

}  // namespace lamella::python
