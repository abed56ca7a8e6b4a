#pragma once

#include <Python.h>

#include <utility>

namespace lamella::python {

/// Owned reference to a Python object, or null. The GIL must be held wherever one is made, copied or dropped.
class PyRef {
 public:
  PyRef() noexcept = default;
  /// Takes ownership of a new reference, or null.
  static PyRef adopt(PyObject* object) noexcept {
    PyRef ref;
    ref.object_ = object;
    return ref;
  }
  /// Adds a reference to a borrowed object.
  static PyRef share(PyObject* object) noexcept {
    Py_XINCREF(object);
    return adopt(object);
  }
  PyRef(const PyRef& other) noexcept : object_(other.object_) { Py_XINCREF(object_); }
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }

  PyObject* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Gives up ownership of the reference.
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

/// Returns an attribute as the type or its bases hold it, without binding it; null if there is none.
inline PyRef find_in_type(PyTypeObject* type, PyObject* name) noexcept {
#if PY_VERSION_HEX >= 0x030d0000
  return PyRef::adopt(_PyType_LookupRef(type, name));
#else
  return PyRef::share(_PyType_Lookup(type, name));
#endif
}

}  // namespace lamella::python
