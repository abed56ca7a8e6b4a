#pragma once

#include <Python.h>

#include "ops/elementwise/elementwise.h"
#include "python/bindings/signature.h"

namespace lamella::python {

/// The functions and methods by which Python calls an elementwise operator whose call is that of its base. Their code
/// is compiled for each number of operands, not for each operator, as that takes long.
struct ElementwiseForm {
  const ElementwiseOp& op;
  const Signature* signature = nullptr;
  const Signature* in_place_signature = nullptr;

  /// Implements f(*operands, out=None); in a method `self` is the first operand. The form comes last, so that the other
  /// arguments stay in the registers in which Python passes them.
  template <int kInputs, bool kMethod>
  static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                        const ElementwiseForm& form) noexcept;
  /// Implements f_(*operands), which overwrites the first one with the result.
  template <int kInputs, bool kMethod>
  static PyObject* call_in_place(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                                 const ElementwiseForm& form) noexcept;
};

}  // namespace lamella::python
