#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "python/bindings/py_ref.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {

/// True if a value is what it was: the same object, or a number, text or bytes of the same type and value.
bool is_unchanged(PyObject* value, PyObject* expected);

/// State of Python objects as it was at some time: contents of dictionaries, lists, cells and the like. A program
/// computes the same again as long as everything that it read is unchanged.
class Guards {
 public:
  /// Reads a list of tuples (kind, container, ...):
  ///     ("dict", dictionary, keys, values)    its keys in order, and their values, or `unwatched`
  ///     ("name", mapping, key, value)         one entry, or `unwatched` if there is none
  ///     ("list", list, values)                its items
  ///     ("cell", cell, value)                 the contents of a function's variable, or `unwatched` if it is empty
  ///     ("set", set, frozenset)               its items
  ///     ("size", container, int)              its length
  ///     ("class", object, type)               its type
  ///     ("attribute", object, name, value)    an attribute, or `unwatched` if there is none
  ///     ("bytes", object, bytes)              the memory of an object that has a buffer
  ///     ("order", container, keys)            what iterating over it gives
  ///     ("call", function, value)             what a function without arguments gives
  Guards(PyObject* entries, PyObject* unwatched);

  /// Returns the position of the first entry that is not as it was; nothing if all are.
  std::optional<std::size_t> first_change();
  int traverse(visitproc visit, void* arg) const;
  void clear() {
    tensors_.clear();
    guards_.clear();
  }

 private:
  struct Guard {
    using Check = bool (*)(const Guard&, PyObject* unwatched);

    Check check;
    PyRef container;
    PyRef key;
    /// The value, or a tuple of values.
    PyRef expected;
    /// Version of a dictionary that was found to be as it was; 0 while there is none.
    std::uint64_t version = 0;
  };

  static bool check_dict(const Guard& guard, PyObject* unwatched);
  static bool check_name(const Guard& guard, PyObject* unwatched);
  static bool check_list(const Guard& guard, PyObject* unwatched);
  static bool check_cell(const Guard& guard, PyObject* unwatched);
  static bool check_set(const Guard& guard, PyObject* unwatched);
  static bool check_size(const Guard& guard, PyObject* unwatched);
  static bool check_class(const Guard& guard, PyObject* unwatched);
  static bool check_attribute(const Guard& guard, PyObject* unwatched);
  static bool check_bytes(const Guard& guard, PyObject* unwatched);
  static bool check_order(const Guard& guard, PyObject* unwatched);
  static bool check_call(const Guard& guard, PyObject* unwatched);

  /// A tensor among the expected values, by its object, which the guard holds.
  struct Watched {
    PyObject* object;
    const TensorImpl* tensor;
    std::size_t guard;
  };

  void watch(PyObject* value);
  std::optional<std::size_t> first_exchanged();

  std::vector<Guard> guards_;
  std::vector<Watched> tensors_;
  /// count_exchanges() when the objects were last seen to stand for their tensors.
  std::uint64_t exchanges_ = count_exchanges();
  PyRef unwatched_;
};

}  // namespace lamella::python
