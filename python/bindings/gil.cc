#include "python/bindings/gil.h"

#include <cxxabi.h>
#include <unistd.h>

#include <mutex>
#include <vector>

namespace lamella::python {
namespace {

std::mutex queue_mutex;
std::vector<PyObject*>& queue() {
  static auto* objects =
      new std::vector<PyObject*>;  // never destroyed: threads may end after static destructors have run
  return *objects;
}

int drop_queued(void*) {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(queue_mutex);
    objects.swap(queue());
  }
  for (PyObject* object : objects) Py_DECREF(object);
  return 0;
}

/// Runs `take`, and blocks a thread for ever that Python ends while it shuts down. Up to 3.13, Python ends daemon
/// threads that ask for the GIL by pthread_exit(), which unwinds the stack through noexcept functions such as
/// destructors, and that aborts the process. From 3.14 on, Python itself blocks such a thread.
template <class F>
auto or_wait_for_the_end(F&& take) noexcept {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

}  // namespace

void restore_thread(PyThreadState* state) noexcept {
  or_wait_for_the_end([state] { PyEval_RestoreThread(state); });
}
PyGILState_STATE ensure_gil() noexcept {
  return or_wait_for_the_end([] { return PyGILState_Ensure(); });
}

bool python_is_alive() noexcept {
  if (!Py_IsInitialized()) return false;
  if (PyGILState_Check()) return true;
#if PY_VERSION_HEX >= 0x030d0000
  return !Py_IsFinalizing();
#else
  return !_Py_IsFinalizing();
#endif
}

void release_anywhere(PyObject* object) noexcept {
  if (!object || !python_is_alive()) return;
  if (PyGILState_Check()) {
    Py_DECREF(object);
    return;
  }
  bool first = false;
  {
    const std::lock_guard lock(queue_mutex);
    first = queue().empty();
    queue().push_back(object);
  }
  // Python may refuse if too many calls are pending; the objects are then dropped here.
  if (first && Py_AddPendingCall(drop_queued, nullptr) != 0) {
    const GilHold gil;
    drop_queued(nullptr);
  }
}

}  // namespace lamella::python
