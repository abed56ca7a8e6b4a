#include "python/bindings/operand_list.h"

#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

HeldOperand read_one(PyObject* object, const Argument& argument) {
  const Operand operand = read<Operand>(object, argument);
  return operand.is_number() ? HeldOperand(operand.number()) : HeldOperand(operand.tensor());
}

}  // namespace

std::vector<HeldOperand> read_operands(PyObject* object, const Argument& argument) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) return {read_one(object, argument)};
  // The list is copied to a tuple first, as reading an item may change it.
  const PyRef items = PyRef::adopt(checked(PySequence_Tuple(object)));
  std::vector<HeldOperand> operands;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    operands.push_back(read_one(PyTuple_GET_ITEM(items.get(), i), argument));
  return operands;
}

}  // namespace lamella::python
