#pragma once

#include <Python.h>

namespace lamella::python {

/// Memory of destroyed objects of one type, at most kMax of them, for the next ones. They are linked by their field for
/// weak references. Not used where no GIL guards it.
template <class Object, int kMax>
class FreeList {
 public:
  /// Returns an object of the type, with undefined fields; null with an exception set on failure.
  Object* take(PyTypeObject* type) {
#ifndef Py_GIL_DISABLED
    if (Object* object = first_) {
      first_ = reinterpret_cast<Object*>(object->weak_references);
      --count_;
      PyObject_Init(reinterpret_cast<PyObject*>(object), type);
      return object;
    }
#endif
    return PyObject_GC_New(Object, type);
  }

  /// Takes the memory of a destroyed object, and its reference to its type. The memory is kept if `fits`: the object is
  /// of the very type that take() is called with.
  void give([[maybe_unused]] Object* object, PyTypeObject* type, [[maybe_unused]] bool fits) {
#ifndef Py_GIL_DISABLED
    if (fits && count_ < kMax) {
      object->weak_references = reinterpret_cast<PyObject*>(first_);
      first_ = object;
      ++count_;
      Py_DECREF(type);
      return;
    }
#endif
    type->tp_free(object);
    Py_DECREF(type);
  }

#ifndef Py_GIL_DISABLED

 private:
  Object* first_ = nullptr;
  int count_ = 0;
#endif
};

}  // namespace lamella::python
