#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include "ops/elementwise/elementwise.h"
#include "ops/op_info.h"
#include "python/bindings/signature.h"

namespace lamella::python {

using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

/// How one form of an operator is called.
struct EntryPoints {
  const Signature** signature;
  FastCall function;
  FastCall method;
};

/// What is defined for an operator, made while compiling: code for each of several hundred takes long to compile.
struct Definition {
  const OpInfo* info;
  const char* parameters;
  /// Types of the parameters and of the result, as a stub file spells them.
  std::span<const char* const> types;
  const char* returns;
  bool takes_out;
  EntryPoints form;
  /// The names of the parts of the result, where they have some, and where the type goes that is made of them.
  std::span<const char* const> fields;
  PyTypeObject** result_type;
  /// Null functions where there is none.
  EntryPoints in_place;
  /// Null for an operator that is not elementwise.
  const ElementwiseOp& (*elementwise)();
};

/// The definitions of the operators of a list. Each list has its instance in a file of its own, as these are the files
/// of the bindings that take longest to compile.
template <class Ops>
std::span<const Definition> definitions_of();

/// Those of all operators.
const std::vector<Definition>& operator_definitions();

/// True if the operator has an in-place form: it does not give bools, and no operator has the name of that form.
bool has_in_place_form(const Definition& op);

}  // namespace lamella::python
