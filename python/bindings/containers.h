#pragma once

#include <Python.h>

#include <ranges>
#include <utility>

#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Returns a new reference for a container to keep; throws if it is null.
inline PyObject* for_container(PyObject* object) { return checked(object); }
inline PyObject* for_container(PyRef object) { return checked(object.release()); }

/// Returns the tuple of make(item), a new reference or a PyRef, for each item of a range; throws if one is null.
template <class Range, class Make>
PyRef tuple_from(Range&& range, Make&& make) {
  PyRef tuple = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(std::ranges::size(range)))));
  Py_ssize_t next = 0;
  for (auto&& item : range) PyTuple_SET_ITEM(tuple.get(), next++, for_container(make(item)));
  return tuple;
}

/// Returns such a list.
template <class Range, class Make>
PyRef list_from(Range&& range, Make&& make) {
  PyRef list = PyRef::adopt(checked(PyList_New(static_cast<Py_ssize_t>(std::ranges::size(range)))));
  Py_ssize_t next = 0;
  for (auto&& item : range) PyList_SET_ITEM(list.get(), next++, for_container(make(item)));
  return list;
}

/// Returns sizes or strides as a tuple of ints.
template <class Sizes>
PyRef tuple_of_ints(const Sizes& sizes) {
  return tuple_from(sizes, [](std::int64_t size) { return PyLong_FromLongLong(size); });
}

}  // namespace lamella::python
