#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// RecursionError for containers that hold themselves.
class RecursionGuard {
 public:
  RecursionGuard();
  ~RecursionGuard() { Py_LeaveRecursiveCall(); }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
};

/// How a value is made up of tensors: a tensor, something else, or a list, tuple, dict or dataclass of such.
struct Form {
  enum class Kind { Other, Tensor, Sequence, Mapping, Record };

  Kind kind = Kind::Other;
  std::vector<Form> parts;
  /// The keys of a mapping, the names of a dataclass's fields: as many as there are parts.
  std::vector<PyRef> keys;

  bool holds_tensors() const;
};

/// What the fields of a dataclass instance are called; nothing for other objects.
PyRef dataclass_fields(PyObject* object);
/// Whether the object can hold tensors: a list, a tuple, a dict, or an instance of a dataclass.
bool is_container(PyObject* object) noexcept;

/// Collects the tensors in values. RecursionError for containers that hold themselves.
class TensorFinder {
 public:
  /// Adds the objects of a value's tensors, in order, and describes the value where `form` is not null.
  void find(PyObject* value, Form* form);

  std::vector<PyRef> objects;

 private:
  void find_parts(PyObject* value, Form* form);
};

/// A value of the given form made of tensors, the next of which `next` points to: a list for a sequence, a dict for
/// anything that has names, None for what was no tensor.
PyRef build_tangents(const Form& form, Tensor*& next);

/// Reads a gradient for a value of the given form: tensors and undefined tensors, in the order of the value's tensors.
/// TypeError, ValueError where it is made up otherwise; `who` and `what` go into the message.
void read_gradient(const Form& form, PyObject* gradient, const std::string& who, const std::string& what,
                   TensorList& tensors);

}  // namespace lamella::python
