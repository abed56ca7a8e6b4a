#pragma once

#include <Python.h>

#include <memory>

namespace lamella::python {

/// Whether this thread may touch Python objects, or wait until it may: not after Python has ended, and while it shuts
/// down only on the thread that does so.
bool python_is_alive() noexcept;

/// Holds the GIL in a scope, on whatever thread; costs a check where it is held already.
class GilHold {
 public:
  GilHold() noexcept : ours_(!PyGILState_Check()) {
    if (ours_) state_ = PyGILState_Ensure();
  }
  ~GilHold() {
    if (ours_) PyGILState_Release(state_);
  }
  GilHold(const GilHold&) = delete;
  GilHold& operator=(const GilHold&) = delete;

 private:
  bool ours_;
  PyGILState_STATE state_{};
};

/// Drops a reference on any thread: at once where the GIL is held, else soon, on a thread that holds it.
void release_anywhere(PyObject* object) noexcept;

/// A counted reference that C++ objects may copy and drop on any thread, with or without the GIL.
using SharedObject = std::shared_ptr<PyObject>;
/// Shares a borrowed reference.
inline SharedObject share_object(PyObject* object) {
  Py_INCREF(object);
  return SharedObject(object, release_anywhere);
}

}  // namespace lamella::python
