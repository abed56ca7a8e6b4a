#include "python/bindings/errors.h"

#include <new>
#include <stdexcept>

#include "python/bindings/checkpoint.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

void raise(PyObject* type, const std::exception& error) noexcept {
  // The message may hold bytes from a file name or from elsewhere that are no UTF-8.
  const char* what = error.what();
  const PyRef text =
      PyRef::adopt(PyUnicode_DecodeUTF8(what, static_cast<Py_ssize_t>(__builtin_strlen(what)), "replace"));
  if (text) PyErr_SetObject(type, text.get());
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

void set_python_error() noexcept {
  const GilHold gil;
  try {
    throw;
  } catch (const PythonError& error) {
    error.restore();
  } catch (const autograd::StopRecomputation& stop) {
    set_stop_recomputation(stop);
  } catch (const ValueError& error) {
    raise(PyExc_ValueError, error);
  } catch (const TypeError& error) {
    raise(PyExc_TypeError, error);
  } catch (const IndexError& error) {
    raise(PyExc_IndexError, error);
  } catch (const NotImplementedError& error) {
    raise(PyExc_NotImplementedError, error);
  } catch (const OutOfMemoryError& error) {
    raise(PyExc_MemoryError, error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::out_of_range& error) {
    raise(PyExc_IndexError, error);
  } catch (const std::logic_error& error) {  // invalid_argument, length_error, domain_error
    raise(PyExc_ValueError, error);
  } catch (const std::exception& error) {
    raise(PyExc_RuntimeError, error);
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
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
