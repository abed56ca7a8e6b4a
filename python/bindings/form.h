#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/tensor.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Raises RecursionError for containers that hold themselves.
class RecursionGuard {
 public:
  RecursionGuard();
  ~RecursionGuard() { Py_LeaveRecursiveCall(); }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
};

/// Structure of a value made of tensors: a tensor, something else, or a list, tuple, dict or dataclass of these.
struct Form {
  enum class Kind { Other, Tensor, Sequence, Mapping, Record };

  Kind kind = Kind::Other;
  std::vector<Form> parts;
  /// Keys of a mapping, names of a dataclass's fields; one for each part.
  std::vector<PyRef> keys;

  bool holds_tensors() const;
};

/// Returns the fields of a dataclass instance as a dict by name; nothing for other objects.
PyRef dataclass_fields(PyObject* object);
/// True if the object can hold tensors: a list, a tuple, a dict, or an instance of a dataclass.
bool is_container(PyObject* object) noexcept;

/// Calls f(part, key, owner) for each part of a container, in order, and returns the container's kind. `key` is null
/// for a sequence. `part` is borrowed from the container and `owner` null, but for a dataclass, where `owner` has the
/// reference that reading the field gave.
template <class F>
Form::Kind for_each_part(PyObject* container, F&& f) {
  if (PyList_Check(container) || PyTuple_Check(container)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(container); ++i)
      f(PySequence_Fast_GET_ITEM(container, i), nullptr, PyRef());
    return Form::Kind::Sequence;
  }
  PyObject *key = nullptr, *value = nullptr;
  if (PyDict_Check(container)) {
    for (Py_ssize_t at = 0; PyDict_Next(container, &at, &key, &value);) f(value, key, PyRef());
    return Form::Kind::Mapping;
  }
  const PyRef fields = dataclass_fields(container);
  for (Py_ssize_t at = 0; PyDict_Next(fields.get(), &at, &key, &value);) {
    PyRef owner = PyRef::adopt(PyObject_GenericGetAttr(container, key));
    if (!owner) {
      PyErr_Clear();  // a class variable, or a field that was deleted
      continue;
    }
    PyObject* const part = owner.get();
    f(part, key, std::move(owner));
  }
  return Form::Kind::Record;
}

/// Collects the tensors in values. RecursionError for containers that hold themselves.
class TensorFinder {
 public:
  /// Appends the Python objects of a value's tensors in order, and describes the value in `form` unless that is null.
  void find(PyObject* value, Form* form);

  std::vector<PyRef> objects;

 private:
  void find_parts(PyObject* value, Form* form);
};

/// Makes a value of the given form from tensors, beginning with *next, which is advanced: a list for a sequence, a dict
/// for anything that has names, None for parts that are no tensors.
PyRef build_tangents(const Form& form, Tensor*& next);

/// Reads a gradient for a value of the given form: tensors and undefined tensors, in the order of the value's tensors.
/// TypeError or ValueError if its structure is another; `who` and `what` go into the message.
void read_gradient(const Form& form, PyObject* gradient, const std::string& who, const std::string& what,
                   TensorList& tensors);

}  // namespace lamella::python
