#include "python/bindings/errors.h"

#include <new>
#include <stdexcept>
#include <string_view>

#include "engine/core/memory_limit.h"
#include "engine/core/spare_memory.h"
#include "engine/distributed/error.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

constexpr std::string_view kAllocate = "[allocate] ";

bool (*translate_other)() noexcept = nullptr;
/// Class of Python's errors that other processes cause.
PyObject* distributed_error = nullptr;
/// Classes that stand in for Python's own; null for these themselves.
PyObject* value_error_class = nullptr;
PyObject* type_error_class = nullptr;
PyObject* index_error_class = nullptr;
PyObject* memory_error_class = nullptr;

/// Returns the message with "[op] " in front, unless it names an operator itself, or only the allocator.
std::string named(const char* op, std::string_view message) {
  if (!op) return std::string(message);
  if (message.starts_with(kAllocate)) message.remove_prefix(kAllocate.size());
  if (message.starts_with('[')) return std::string(message);
  return str("[", op, "] ", message);
}

PyObject* value_errors() { return value_error_class ? value_error_class : PyExc_ValueError; }
PyObject* type_errors() { return type_error_class ? type_error_class : PyExc_TypeError; }
PyObject* index_errors() { return index_error_class ? index_error_class : PyExc_IndexError; }
PyObject* memory_errors() { return memory_error_class ? memory_error_class : PyExc_MemoryError; }

void raise(PyObject* type, const std::string& message) {
  // File names and other texts in the message may hold bytes that are not UTF-8.
  const PyRef text =
      PyRef::adopt(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  if (text) PyErr_SetObject(type, text.get());
}

/// Returns the text for an allocation failure of unknown size.
std::string out_of_memory_text(const char* op) {
  return str("[", op,
             "] the system gives no more memory for what the call keeps beside its tensors: ", describe_memory());
}

/// Sets the Python exception for the C++ exception being handled. Only std::bad_alloc leaves it, if there is no memory
/// for the message.
void set_error(const char* op, const char* function) {
  const char* const caller = op ? op : function ? function : "lamella";
  try {
    throw;
  } catch (const PythonError& error) {
    error.restore();
    name_memory_error(caller);
  } catch (const ValueError& error) {
    raise(value_errors(), named(op, error.what()));
  } catch (const TypeError& error) {
    raise(type_errors(), named(op, error.what()));
  } catch (const IndexError& error) {
    raise(index_errors(), named(op, error.what()));
  } catch (const NotImplementedError& error) {
    raise(PyExc_NotImplementedError, named(op, error.what()));
  } catch (const distributed::DistributedError& error) {
    raise(distributed_error ? distributed_error : PyExc_RuntimeError, named(op, error.what()));
  } catch (const OutOfMemoryError& error) {
    const SpareMemory spare;
    raise(memory_errors(), named(caller, error.what()));
  } catch (const std::bad_alloc&) {
    const SpareMemory spare;
    raise(memory_errors(), out_of_memory_text(caller));
  } catch (const std::out_of_range& error) {
    raise(index_errors(), named(op, error.what()));
  } catch (const std::logic_error& error) {  // invalid_argument, length_error, domain_error
    raise(value_errors(), named(op, error.what()));
  } catch (const std::exception& error) {
    raise(PyExc_RuntimeError, named(op, error.what()));
  } catch (...) {
    if (!translate_other || !translate_other()) PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
}

}  // namespace

PythonError::PythonError() {
#if PY_VERSION_HEX >= 0x030c0000
  PyObject* value = PyErr_GetRaisedException();
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
#endif
  value_ = SharedObject(value, release_anywhere);
}

void PythonError::restore() const noexcept {
  PyObject* value = value_.get();
  Py_XINCREF(value);
#if PY_VERSION_HEX >= 0x030c0000
  PyErr_SetRaisedException(value);
#else
  PyObject* type = value ? reinterpret_cast<PyObject*>(Py_TYPE(value)) : nullptr;
  Py_XINCREF(type);
  PyErr_Restore(type, value, value ? PyException_GetTraceback(value) : nullptr);
#endif
}

void throw_python_error() {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "a call into Python failed without saying why");
  throw PythonError();
}

void set_python_error(const char* op, const char* function) noexcept {
  const GilHold gil;
  try {
    set_error(op, function);
  } catch (...) {  // out of memory while making the message
    PyErr_NoMemory();
  }
}

void set_python_error() noexcept { set_python_error(nullptr, nullptr); }

void name_memory_error(const char* op) noexcept {
  if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_MemoryError)) return;
  const SpareMemory spare;
  const PythonError error;
  PyObject* const value = error.value();
  if (value && Py_IS_TYPE(value, reinterpret_cast<PyTypeObject*>(PyExc_MemoryError))) {
    const PyRef told = PyRef::adopt(PyObject_GetAttrString(value, "args"));
    if (told && PyTuple_Check(told.get()) && PyTuple_GET_SIZE(told.get()) == 0) {
      try {
        const PyRef args = PyRef::adopt(Py_BuildValue("(s)", out_of_memory_text(op).c_str()));
        if (args) PyObject_SetAttrString(value, "args", args.get());
      } catch (const std::bad_alloc&) {  // out of memory again: the error keeps its empty text
      }
    }
    PyErr_Clear();
  }
  error.restore();
}

void translate_other_exceptions(bool (*translator)() noexcept) noexcept { translate_other = translator; }

void raise_distributed_errors_as(PyObject* type) noexcept { distributed_error = type; }

void raise_errors_as(PyObject* value_error, PyObject* type_error, PyObject* index_error,
                     PyObject* memory_error) noexcept {
  value_error_class = Py_NewRef(value_error);
  type_error_class = Py_NewRef(type_error);
  index_error_class = Py_NewRef(index_error);
  memory_error_class = Py_NewRef(memory_error);
}

void add_note(const std::string& note) noexcept {
  const PythonError error;
  if (error.value()) {
    const PyRef text = PyRef::adopt(PyUnicode_DecodeUTF8(note.data(), static_cast<Py_ssize_t>(note.size()), "replace"));
    const PyRef name = PyRef::adopt(PyUnicode_FromString("add_note"));
    if (text && name) Py_XDECREF(PyObject_CallMethodOneArg(error.value(), name.get(), text.get()));
    PyErr_Clear();
  }
  error.restore();
}

}  // namespace lamella::python
