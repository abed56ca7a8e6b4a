#pragma once

#include <Python.h>

#include <exception>
#include <string>
#include <type_traits>

#include "engine/core/error.h"
#include "python/bindings/gil.h"

namespace lamella::python {

/// A Python exception on its way through C++, with its own type and traceback.
class PythonError final : public std::exception {
 public:
  /// Takes the exception that is set in Python, which there must be.
  PythonError();
  const char* what() const noexcept override { return "a Python exception"; }
  /// Sets it in Python again.
  void restore() const noexcept;
  PyObject* value() const noexcept { return value_.get(); }

 private:
  SharedObject value_;
};

/// Throws the exception that is set in Python.
[[noreturn, gnu::cold, gnu::noinline]] void throw_python_error();

/// Sets in Python the C++ exception that is being handled.
[[gnu::cold, gnu::noinline]] void set_python_error() noexcept;

/// Adds a line to the exception that is set in Python, or nothing where that fails.
void add_note(const std::string& note) noexcept;

/// `object`, or the Python exception thrown where it is null.
template <class T>
T* checked(T* object) {
  if (!object) [[unlikely]]
    throw_python_error();
  return object;
}
/// Throws where a call into Python returned a negative number.
inline int checked(int status) {
  if (status < 0) [[unlikely]]
    throw_python_error();
  return status;
}

/// Runs f at an entry point from Python: no C++ exception leaves it. Returns f's result; null or -1 with an exception
/// set.
template <class F>
auto guarded(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    set_python_error();
    if constexpr (std::is_pointer_v<decltype(f())>) {
      return nullptr;
    } else {
      return -1;
    }
  }
}

/// The name of an object's type, for messages.
inline const char* type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

}  // namespace lamella::python
