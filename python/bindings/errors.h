#pragma once

#include <Python.h>

#include <exception>
#include <string>
#include <type_traits>

#include "engine/core/error.h"
#include "python/bindings/gil.h"

namespace lamella::python {

/// Carries a Python exception through C++ code, with its type and traceback.
class PythonError final : public std::exception {
 public:
  /// Takes the exception that is set in Python; there must be one.
  PythonError();
  const char* what() const noexcept override { return "a Python exception"; }
  /// Sets the exception in Python again.
  void restore() const noexcept;
  PyObject* value() const noexcept { return value_.get(); }

 private:
  SharedObject value_;
};

/// Throws the exception that is set in Python.
[[noreturn, gnu::cold, gnu::noinline]] void throw_python_error();

/// Sets the Python exception for the C++ exception being handled.
[[gnu::cold, gnu::noinline]] void set_python_error() noexcept;
/// Sets the Python exception for the C++ exception being handled in a call of `op`: a message that names no operator
/// gets "[op]" in front. `op` may be null; an allocation failure then names `function`.
[[gnu::cold, gnu::noinline]] void set_python_error(const char* op, const char* function) noexcept;
/// Gives the MemoryError that is set in Python, if it is one and has no text, a text that names `op`.
[[gnu::cold, gnu::noinline]] void name_memory_error(const char* op) noexcept;

/// Sets the function that set_python_error() asks about an exception that is no std::exception: it sets the Python
/// exception for the one being handled and returns true, or returns false.
void translate_other_exceptions(bool (*translator)() noexcept) noexcept;

/// Sets the class of the Python exceptions that stand for DistributedError; it lives as long as the process.
void raise_distributed_errors_as(PyObject* type) noexcept;

/// Sets the classes that are raised in place of ValueError, TypeError, IndexError and MemoryError, each a subclass of
/// the one that it replaces; they live as long as the process.
void raise_errors_as(PyObject* value_error, PyObject* type_error, PyObject* index_error,
                     PyObject* memory_error) noexcept;

/// Adds a note to the exception that is set in Python; does nothing if that fails.
void add_note(const std::string& note) noexcept;

/// Returns `object`; throws the Python exception that is set if it is null.
template <class T>
T* checked(T* object) {
  if (!object) [[unlikely]]
    throw_python_error();
  return object;
}
/// Returns `status`; throws the Python exception that is set if it is negative.
inline int checked(int status) {
  if (status < 0) [[unlikely]]
    throw_python_error();
  return status;
}

/// Runs f at an entry point from Python and turns C++ exceptions into Python's. Returns f's result; null or -1 with an
/// exception set if f throws. `op` names the entry in messages; `function` is the caller's own name, used if `op` is
/// null.
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

/// Returns the name of an object's type, for messages.
inline const char* type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

}  // namespace lamella::python
