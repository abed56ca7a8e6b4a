#pragma once

#include <Python.h>

#include <span>
#include <string>
#include <vector>

#include "ops/elementwise/elementwise.h"
#include "ops/op_info.h"
#include "python/bindings/signature.h"

namespace lamella::python {

using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

/// Entry points of one form of an operator: its signature, its function of the module and its method.
struct EntryPoints {
  const Signature** signature;
  FastCall function;
  FastCall method;
};

/// Definition of an operator for Python. It is data made at compile time, as generated code for each of several hundred
/// operators takes long to compile.
struct Definition {
  const OpInfo* info;
  const char* parameters;
  /// Types of the parameters and of the result, as a stub file spells them.
  std::span<const char* const> types;
  const char* returns;
  bool takes_out;
  /// True if the method also takes its sizes apart: x.reshape(2, 3) for x.reshape((2, 3)).
  bool takes_sizes_apart;
  EntryPoints form;
  /// Names of the result's fields, empty if they have none, and the place for the tuple type made of them.
  std::span<const char* const> fields;
  PyTypeObject** result_type;
  /// Holds null functions if the operator has no in-place form.
  EntryPoints in_place;
  /// Null for an operator that is not elementwise.
  const ElementwiseOp& (*elementwise)();
};

/// Returns the operator's example, a Python expression over names of `lm`.
inline std::string example_of(const OpInfo& info) {
  return info.example ? info.example : str(info.name, "(full([2], 0.5))");
}

/// Returns the definitions of the operators of a list. Each list is instantiated in a file of its own, as these files
/// take longest to compile.
template <class Ops>
std::span<const Definition> definitions_of();

/// Returns the definitions of all operators.
const std::vector<Definition>& operator_definitions();

/// True if the operator has an in-place form: it does not give bools, and no operator has the name of that form.
bool has_in_place_form(const Definition& op);

}  // namespace lamella::python
