#include "python/bindings/convert_doubles.h"

#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

std::vector<double> read_doubles(PyObject* object, const Argument& argument) {
  if (PyUnicode_Check(object) || PyBytes_Check(object))
    argument.wrong_type(ArgumentType<std::vector<double>>::expected, object);
  if (PyFloat_Check(object) || PyIndex_Check(object) || !PySequence_Check(object))
    return {read_double(object, argument)};
  const PyRef items = PyRef::adopt(PySequence_Fast(object, "expected a sequence"));
  if (!items) throw_python_error();
  std::vector<double> values;
  // An item's __float__ may change the list: the size is read again for each item, and the item is held.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const PyRef item = PyRef::share(PySequence_Fast_GET_ITEM(items.get(), i));
    values.push_back(read_double(item.get(), argument));
  }
  return values;
}

}  // namespace lamella::python
