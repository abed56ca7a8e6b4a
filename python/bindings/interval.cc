#include "python/bindings/interval.h"

#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

std::pair<double, double> read_interval(PyObject* object, const Argument& argument) {
  if (!PyTuple_Check(object) && !PyList_Check(object))
    argument.wrong_type(ArgumentType<std::pair<double, double>>::expected, object);
  const PyRef items = PyRef::adopt(checked(PySequence_Tuple(object)));
  if (PyTuple_GET_SIZE(items.get()) != 2)
    argument.wrong_value(str("expected two numbers, got ", PyTuple_GET_SIZE(items.get())));
  const auto item = [&](Py_ssize_t i) { return read_double(PyTuple_GET_ITEM(items.get(), i), argument); };
  return {item(0), item(1)};
}

}  // namespace lamella::python
