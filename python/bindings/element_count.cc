#include "python/bindings/element_count.h"

#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

PyObject* refuse_call(PyObject* self, PyObject* /*args*/, PyObject* /*kwargs*/) {
  return guarded([&]() -> PyObject* {
    fail<TypeError>("[size] the number of elements, ", PyLong_AsLongLong(self),
                    ", is no function: x.shape has the sizes of the axes, and x.shape[axis] is one of them");
  });
}

/// Copies and pickles as a plain int.
PyObject* reduce(PyObject* self, PyObject* /*none*/) {
  return Py_BuildValue("(O(L))", reinterpret_cast<PyObject*>(&PyLong_Type), PyLong_AsLongLong(self));
}

PyObject* make_type() {
  static PyMethodDef methods[] = {
      {"__reduce__", reduce, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(refuse_call)},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>("A number of elements.")},
      {0, nullptr},
  };
  static PyType_Spec spec{"lamella.ElementCount", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  const PyRef bases = PyRef::adopt(checked(PyTuple_Pack(1, &PyLong_Type)));
  return checked(PyType_FromSpecWithBases(&spec, bases.get()));
}

}  // namespace

PyObject* element_count(std::int64_t count) {
  static PyObject* const type = make_type();
  const PyRef number = PyRef::adopt(checked(PyLong_FromLongLong(count)));
  return checked(PyObject_CallOneArg(type, number.get()));
}

}  // namespace lamella::python
