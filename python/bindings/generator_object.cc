#include "python/bindings/generator_object.h"

namespace lamella::python {

PyTypeObject* generator_type = nullptr;

Generator* read_generator(PyObject* object, const Argument& argument) {
  if (object == Py_None) return nullptr;
  if (!Py_IS_TYPE(object, generator_type)) argument.wrong_type("a Generator or None", object);
  return &generator_of(object);
}

}  // namespace lamella::python
