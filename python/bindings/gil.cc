#include "python/bindings/gil.h"

#include <mutex>
#include <vector>

namespace lamella::python {
namespace {

std::mutex queue_mutex;
std::vector<PyObject*>& queue() {
  static auto* objects = new std::vector<PyObject*>;  // never destroyed: threads may end after it would be
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

}  // namespace

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
  // Python may refuse when too many calls are pending; then those queued go with the next one.
  if (first && Py_AddPendingCall(drop_queued, nullptr) != 0) {
    const GilHold gil;
    drop_queued(nullptr);
  }
}

}  // namespace lamella::python
