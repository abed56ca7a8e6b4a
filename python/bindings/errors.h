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
/// The same for a call of `op`: a message that names no operator is given that one. `op` may be null; one where memory
/// ran out then names `function`.
[[gnu::cold, gnu::noinline]] void set_python_error(const char* op, const char* function) noexcept;
/// Gives the MemoryError that is set in Python, if it is one and has no text, a text that names `op`.
[[gnu::cold, gnu::noinline]] void name_memory_error(const char* op) noexcept;

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
/// set. `op` is what messages call the entry, `function` the caller of this one, which has that name or one near it.
template <class F>
auto guarded(F&& f, const char* op = nullptr, const char* function = __builtin_FUNCTION()) noexcept -> decltype(f()) {
  try {
    auto result = f();
    bool failed = false;
    if constexpr (std::is_pointer_v<decltype(f())>) {
      failed = result == nullptr;
    } else {
      failed = result < 0;
    }
    if (failed) [[unlikely]]
      name_memory_error(op ? op : function);
    return result;
  } catch (...) {
    set_python_error(op, function);
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
