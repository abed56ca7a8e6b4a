#pragma once

#include <Python.h>

#include <memory>
#include <mutex>

#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030e0000
#error "Lamella needs Python 3.14 or newer where Python is built without the GIL"
#endif

namespace lamella::python {

// Note [State without the GIL]
// What the bindings keep between calls is guarded by the GIL. In a Python that has none, StateMutex takes its place; it
// is held for a few instructions, and no Python code runs under it. See docs/free-threading.md.
#ifdef Py_GIL_DISABLED
using StateMutex = std::mutex;
#else
/// Costs nothing.
struct StateMutex {
  void lock() noexcept {}
  void unlock() noexcept {}
};
#endif

/// Adds a reference to an object that may be on its way down, and says whether it did. The caller sees to it that the
/// memory is still the object's.
inline bool try_retain(PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  return PyUnstable_TryIncRef(object) != 0;
#else
  if (Py_REFCNT(object) == 0) return false;
  Py_INCREF(object);
  return true;
#endif
}
/// To be called for objects that try_retain() will be called for, when they are made.
inline void expect_try_retain([[maybe_unused]] PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  PyUnstable_EnableTryIncRef(object);
#endif
}
/// Whether the caller's reference is the only one.
inline bool is_sole_reference(PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  return PyUnstable_Object_IsUniquelyReferenced(object) != 0;
#else
  return Py_REFCNT(object) == 1;
#endif
}

/// Whether this thread may touch Python objects, or wait until it may: not after Python has ended, and while it shuts
/// down only on the thread that does so.
bool python_is_alive() noexcept;

/// PyEval_RestoreThread() and PyGILState_Ensure(), but a thread that Python would end, as it is shutting down, waits
/// for the end of the process instead: see the definition.
void restore_thread(PyThreadState* state) noexcept;
PyGILState_STATE ensure_gil() noexcept;

/// Holds the GIL in a scope, on whatever thread; costs a check where it is held already.
class GilHold {
 public:
  GilHold() noexcept : ours_(!PyGILState_Check()) {
    if (ours_) state_ = ensure_gil();
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
