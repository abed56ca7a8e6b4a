#pragma once

#include <Python.h>

#include <memory>
#include <mutex>

#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030e0000
#error "Lamella needs Python 3.14 or newer where Python is built without the GIL"
#endif

namespace lamella::python {

// Note [State without the GIL]
// The GIL guards what the bindings keep between calls. In a Python that has none, StateMutex takes its place; it is
// held for a few instructions, and no Python code runs under it. See docs/free-threading.md.
#ifdef Py_GIL_DISABLED
using StateMutex = std::mutex;
#else
/// Empty mutex: the GIL is held, so that locking costs nothing.
struct StateMutex {
  void lock() noexcept {}
  void unlock() noexcept {}
};
#endif

/// Adds a reference to an object that another thread may be destroying; false if it is too late. The caller guarantees
/// that the object's memory is still valid.
inline bool try_retain(PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  return PyUnstable_TryIncRef(object) != 0;
#else
  if (Py_REFCNT(object) == 0) return false;
  Py_INCREF(object);
  return true;
#endif
}
/// Prepares a new object for try_retain(); call it when the object is made.
inline void expect_try_retain([[maybe_unused]] PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  PyUnstable_EnableTryIncRef(object);
#endif
}
/// True if the caller's reference is the only one.
inline bool is_sole_reference(PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  return PyUnstable_Object_IsUniquelyReferenced(object) != 0;
#else
  return Py_REFCNT(object) == 1;
#endif
}

/// Keeps other threads from changing a container while its items are read as borrowed references.
class ContainerLock {
 public:
#ifdef Py_GIL_DISABLED
  explicit ContainerLock(PyObject* container) noexcept { PyCriticalSection_Begin(&section_, container); }
  ~ContainerLock() { PyCriticalSection_End(&section_); }
#else
  explicit ContainerLock(PyObject*) noexcept {}
  ~ContainerLock() {}  // NOLINT(modernize-use-equals-default): a trivial one would make objects unused variables
#endif
  ContainerLock(const ContainerLock&) = delete;
  ContainerLock& operator=(const ContainerLock&) = delete;

#ifdef Py_GIL_DISABLED
 private:
  PyCriticalSection section_;
#endif
};

/// True if this thread may touch Python objects, or wait until it may: not after Python has ended, and while it shuts
/// down only on the thread that does so.
bool python_is_alive() noexcept;

/// Call PyEval_RestoreThread() and PyGILState_Ensure(), except that a thread which Python would end while it shuts down
/// blocks until the process ends instead; or_wait_for_the_end() in gil.cc says why.
void restore_thread(PyThreadState* state) noexcept;
PyGILState_STATE ensure_gil() noexcept;

/// Holds the GIL in a scope, on any thread; costs one check if it is held already.
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

/// Drops a reference on any thread: at once if the GIL is held, else soon, on a thread that holds it.
void release_anywhere(PyObject* object) noexcept;

/// Counted reference to a Python object that C++ objects may copy and drop on any thread, with or without the GIL.
using SharedObject = std::shared_ptr<PyObject>;
/// Makes a SharedObject from a borrowed reference.
inline SharedObject share_object(PyObject* object) {
  Py_INCREF(object);
  return SharedObject(object, release_anywhere);
}

}  // namespace lamella::python
