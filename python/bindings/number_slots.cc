#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/pow.h"
#include "ops/linalg/matmul.h"
#include "python/bindings/convert.h"
#include "python/bindings/create.h"
#include "python/bindings/errors.h"
#include "python/bindings/numpy.h"
#include "python/bindings/tensor_object.h"
#include "python/bindings/tensor_slots.h"

namespace lamella::python {
namespace {

/// Operand of an arithmetic expression: a tensor, a number, or a numpy array, which becomes a tensor.
class Side {
 public:
  /// Reads an operand; false if Python is to ask the other operand's type.
  bool read(PyObject* object) {
    if (is_tensor(object)) [[likely]] {
      operand_ = Operand(tensor_of(object));
      return true;
    }
    Scalar value = 0;
    if (as_scalar(object, value)) {
      operand_ = Operand(value);
      return true;
    }
    if (!is_numpy_array(object)) return false;
    converted_ = create_tensor(object, {.op = "asarray", .copy = Copy::IfNeeded});
    operand_ = Operand(converted_);
    return true;
  }
  const Operand& operand() const noexcept { return operand_; }
  const Tensor& tensor() const noexcept { return operand_.tensor(); }
  bool is_tensor_side() const noexcept { return !operand_.is_number(); }

 private:
  Operand operand_ = Operand(Scalar(0));
  Tensor converted_;
};

template <class Op>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded(
      [&]() -> PyObject* {
        Side left, right;
        if (!left.read(a) || !right.read(b)) Py_RETURN_NOTIMPLEMENTED;
        return wrap(Op::call(left.operand(), right.operand()));
      },
      Op::info.name);
}

template <class Op>
PyObject* unary(PyObject* x) {
  return guarded([&] { return wrap(Op::call(tensor_of(x))); }, Op::info.name);
}

template <class Op>
PyObject* in_place(PyObject* self, PyObject* other) {
  return guarded(
      [&]() -> PyObject* {
        Side right;
        if (!is_tensor(self) || !right.read(other)) Py_RETURN_NOTIMPLEMENTED;
        return wrap(Op::call(tensor_of(self), right.operand()));
      },
      Op::info.name);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<Pow>(a, b);
}

PyObject* divmod(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Side left, right;
    if (!left.read(a) || !right.read(b)) Py_RETURN_NOTIMPLEMENTED;
    PyRef tuple = PyRef::adopt(checked(PyTuple_New(2)));
    PyTuple_SET_ITEM(tuple.get(), 0, checked(wrap(FloorDivide::call(left.operand(), right.operand()))));
    PyTuple_SET_ITEM(tuple.get(), 1, checked(wrap(Remainder::call(left.operand(), right.operand()))));
    return tuple.release();
  });
}

template <class Op>
PyObject* in_place_of(PyObject* self, PyObject* other) {
  return guarded(
      [&]() -> PyObject* {
        Side right;
        if (!is_tensor(self) || !right.read(other)) Py_RETURN_NOTIMPLEMENTED;
        return wrap(update_in_place(elementwise_op<Op>(), tensor_of(self), right.operand(), Op::info.name));
      },
      Op::info.name);
}

PyObject* power_in_place(PyObject* self, PyObject* other, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place_of<Pow>(self, other);
}

PyObject* matmul_slot(PyObject* a, PyObject* b) {
  return guarded(
      [&]() -> PyObject* {
        Side left, right;
        if (!left.read(a) || !right.read(b) || !left.is_tensor_side() || !right.is_tensor_side())
          Py_RETURN_NOTIMPLEMENTED;
        return wrap(matmul(left.tensor(), right.tensor()));
      },
      "matmul");
}

PyObject* positive(PyObject* x) {
  return guarded([&] { return wrap(tensor_of(x)); });
}

int truth(PyObject* self) {
  return guarded([&]() -> int {
    const Tensor& x = tensor_of(self);
    if (x.numel() != 1) {
      fail<ValueError>("[bool] the truth of a tensor with ", x.numel(),
                       " elements is ambiguous: use lm.any(x) or lm.all(x)");
    }
    const PyRef item = PyRef::adopt(tensor_item(x, "bool"));
    return checked(PyObject_IsTrue(item.get()));
  });
}

/// Returns the single element as the nearest Python number.
PyRef element(PyObject* self, const char* what) {
  const Tensor& x = tensor_of(self);
  if (x.numel() != 1) fail<ValueError>("[", what, "] expected a tensor with one element, got ", describe(x));
  return PyRef::adopt(tensor_item(x, what));
}

PyObject* as_float(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const PyRef item = element(self, "float");
    if (PyComplex_Check(item.get()))
      fail<TypeError>("[float] expected a real tensor, got a complex one; take x.real or x.abs()");
    return PyNumber_Float(item.get());
  });
}

PyObject* as_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const PyRef item = element(self, "int");
    if (PyComplex_Check(item.get()))
      fail<TypeError>("[int] expected a real tensor, got a complex one; take x.real or x.abs()");
    return PyNumber_Long(item.get());
  });
}

PyObject* as_index_number(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    if (!is_integral(x.dtype()) || x.ndim() != 0) {
      fail<TypeError>("[index] only a 0-d integer tensor can be used as an index, this one is ", describe(x));
    }
    return tensor_item(x, "index");
  });
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_EQ:
      return binary<Equal>(a, b);
    case Py_NE:
      return binary<NotEqual>(a, b);
    case Py_LT:
      return binary<Less>(a, b);
    case Py_LE:
      return binary<LessEqual>(a, b);
    case Py_GT:
      return binary<Greater>(a, b);
    default:
      return binary<GreaterEqual>(a, b);
  }
}

template <class Function>
PyType_Slot slot(int id, Function* function) {
  return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

void add_number_slots(std::vector<PyType_Slot>& slots) {
  slots.insert(slots.end(), {
                                slot(Py_nb_add, binary<Add>),
                                slot(Py_nb_subtract, binary<Subtract>),
                                slot(Py_nb_multiply, binary<Multiply>),
                                slot(Py_nb_true_divide, binary<Divide>),
                                slot(Py_nb_floor_divide, binary<FloorDivide>),
                                slot(Py_nb_remainder, binary<Remainder>),
                                slot(Py_nb_power, power),
                                slot(Py_nb_matrix_multiply, matmul_slot),
                                slot(Py_nb_and, binary<BitwiseAnd>),
                                slot(Py_nb_or, binary<BitwiseOr>),
                                slot(Py_nb_xor, binary<BitwiseXor>),
                                slot(Py_nb_negative, unary<Negative>),
                                slot(Py_nb_positive, positive),
                                slot(Py_nb_absolute, unary<Abs>),
                                slot(Py_nb_invert, unary<BitwiseNot>),
                                slot(Py_nb_inplace_add, in_place<AddInPlace>),
                                slot(Py_nb_inplace_subtract, in_place<SubtractInPlace>),
                                slot(Py_nb_inplace_multiply, in_place<MultiplyInPlace>),
                                slot(Py_nb_inplace_true_divide, in_place<DivideInPlace>),
                                slot(Py_nb_inplace_floor_divide, in_place_of<FloorDivide>),
                                slot(Py_nb_inplace_remainder, in_place_of<Remainder>),
                                slot(Py_nb_inplace_power, power_in_place),
                                slot(Py_nb_inplace_and, in_place_of<BitwiseAnd>),
                                slot(Py_nb_inplace_or, in_place_of<BitwiseOr>),
                                slot(Py_nb_inplace_xor, in_place_of<BitwiseXor>),
                                slot(Py_nb_inplace_lshift, in_place_of<BitwiseLeftShift>),
                                slot(Py_nb_inplace_rshift, in_place_of<BitwiseRightShift>),
                                slot(Py_nb_lshift, binary<BitwiseLeftShift>),
                                slot(Py_nb_rshift, binary<BitwiseRightShift>),
                                slot(Py_nb_divmod, divmod),
                                slot(Py_nb_bool, truth),
                                slot(Py_nb_float, as_float),
                                slot(Py_nb_int, as_int),
                                slot(Py_nb_index, as_index_number),
                                slot(Py_tp_richcompare, compare),
                            });
}

}  // namespace lamella::python
