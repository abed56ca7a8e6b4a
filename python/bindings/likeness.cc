#include "python/bindings/likeness.h"

#include "engine/autograd/graph/place.h"
#include "python/bindings/errors.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

/// Returns the object of a weak reference, or None if it is gone.
PyRef target_of(PyObject* reference) {
  if (reference == Py_None) return PyRef::share(Py_None);
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* object = nullptr;
  if (PyWeakref_GetRef(reference, &object) < 0) throw_python_error();
  return object ? PyRef::adopt(object) : PyRef::share(Py_None);
#else
  return PyRef::share(checked(PyWeakref_GetObject(reference)));
#endif
}

}  // namespace

PyRef weak_references_to(std::span<PyObject* const> objects) {
  PyRef references;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!is_tensor(objects[i]) || Py_TYPE(objects[i]) == tensor_type) continue;
    if (!references) {
      references = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(objects.size()))));
      for (std::size_t k = 0; k < objects.size(); ++k) {
        PyTuple_SET_ITEM(references.get(), static_cast<Py_ssize_t>(k), Py_NewRef(Py_None));
      }
    }
    checked(
        PyTuple_SetItem(references.get(), static_cast<Py_ssize_t>(i), checked(PyWeakref_NewRef(objects[i], nullptr))));
  }
  return references;
}

PyRef wrap_like(PyObject* original, Tensor x) {
  PyTypeObject* const type = Py_TYPE(original);
  if (const auto* own = static_cast<PyObject*>(x->host_object.load(std::memory_order_acquire));
      own && Py_IS_TYPE(own, type)) {
    return wrap_ref(std::move(x));
  }
  PyRef made = PyRef::adopt(wrap_as(type, std::move(x)));
  if (autograd::get_meta(tensor_of(made.get()))) track(made.get());
  static PyObject* const name = checked(PyUnicode_InternFromString("__dict__"));
  const PyRef attributes = PyRef::adopt(PyObject_GetAttr(original, name));
  if (!attributes || PyObject_SetAttr(made.get(), name, attributes.get()) < 0) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw_python_error();
    PyErr_Clear();  // a class with __slots__
  }
  return made;
}

PyRef wrap_all_like(PyObject* originals, std::span<const Tensor> tensors) {
  PyRef tuple = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size()))));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    const PyRef original =
        at < PyTuple_GET_SIZE(originals) ? target_of(PyTuple_GET_ITEM(originals, at)) : PyRef::share(Py_None);
    const bool plain = original.get() == Py_None || !tensors[i].defined();
    PyTuple_SET_ITEM(tuple.get(), at,
                     plain ? checked(wrap(tensors[i])) : wrap_like(original.get(), tensors[i]).release());
  }
  return tuple;
}

}  // namespace lamella::python
