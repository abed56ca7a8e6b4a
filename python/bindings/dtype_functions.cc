#include "python/bindings/dtype_functions.h"

#include <deque>
#include <vector>

#include "ops/support/dtype_limits.h"
#include "ops/support/dtypes.h"
#include "ops/support/promotion.h"
#include "python/bindings/convert.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

/// Reads a dtype; for a tensor, returns its dtype.
DType dtype_or_tensor(PyObject* object, const Argument& argument) {
  return is_tensor(object) ? tensor_of(object).dtype() : read_dtype(object, argument);
}

PyObject* result_type(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("result_type", "arrays_and_dtypes");
    std::deque<Tensor> dtypes;  // a dtype counts as a tensor of that dtype with axes
    std::vector<Operand> operands;
    bool any_dtype = false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      Scalar number = 0;
      if (as_scalar(args[i], number)) {
        operands.emplace_back(number);
        continue;
      }
      any_dtype = true;
      if (is_tensor(args[i])) {
        operands.emplace_back(tensor_of(args[i]));
        continue;
      }
      dtypes.push_back(empty({1}, read_dtype(args[i], {signature, 0}), DeviceType::Meta));
      operands.emplace_back(dtypes.back());
    }
    if (!any_dtype) fail<ValueError>("[result_type] expected at least one tensor or dtype");
    std::vector<const Operand*> list;
    for (const Operand& operand : operands) list.push_back(&operand);
    return dtype_object(promoted_dtype(list));
  });
}

PyObject* promote_by_rank_function(PyObject*, PyObject* enabled) {
  return guarded([&]() -> PyObject* {
    promote_by_rank(checked(PyObject_IsTrue(enabled)) != 0);
    Py_RETURN_NONE;
  });
}

PyObject* promote_types_function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("promote_types", "type1, type2, /");
    const auto values = signature.bound<2>(args, count, keywords);
    return dtype_object(promote_types(read_dtype(values[0], {signature, 0}), read_dtype(values[1], {signature, 1})));
  });
}

PyObject* can_cast_function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("can_cast", "from_, to, /");
    const auto values = signature.bound<2>(args, count, keywords);
    return PyBool_FromLong(can_cast(dtype_or_tensor(values[0], {signature, 0}), read_dtype(values[1], {signature, 1})));
  });
}

bool is_kind(DType dtype, PyObject* kind, const Argument& argument) {
  if (PyTuple_Check(kind)) {
    bool any = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kind); ++i) any |= is_kind(dtype, PyTuple_GET_ITEM(kind, i), argument);
    return any;
  }
  if (PyUnicode_Check(kind)) return is_of_kind(dtype, read_text(kind, argument));
  DType other{};
  if (!as_dtype(kind, other)) argument.wrong_type("a dtype, the name of a kind, or a tuple of these", kind);
  return dtype == other;
}

PyObject* isdtype(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("isdtype", "dtype, kind");
    const auto values = signature.bound<2>(args, count, keywords);
    return PyBool_FromLong(is_kind(read_dtype(values[0], {signature, 0}), values[1], {signature, 1}));
  });
}

PyObject* float_limits_function(PyObject*, PyObject* type) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("finfo", "type, /");
    const DType dtype = dtype_or_tensor(type, {signature, 0});
    const FloatLimits limits = float_limits(dtype);
    const PyRef real = PyRef::adopt(dtype_object(real_dtype(dtype)));
    return Py_BuildValue("idddO", limits.bits, limits.eps, limits.max, limits.smallest_normal, real.get());
  });
}

PyObject* integer_limits_function(PyObject*, PyObject* type) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("iinfo", "type, /");
    const DType dtype = dtype_or_tensor(type, {signature, 0});
    const IntegerLimits limits = integer_limits(dtype);
    const PyRef self = PyRef::adopt(dtype_object(dtype));
    return Py_BuildValue("iLKO", limits.bits, static_cast<long long>(limits.min),
                         static_cast<unsigned long long>(limits.max), self.get());
  });
}

PyMethodDef dtype_method_defs[] = {
    {"result_type", as_c_function(result_type), METH_FASTCALL,
     "result_type(*arrays_and_dtypes)\n--\n\n"
     "The dtype of a computation with these tensors, dtypes and Python numbers. A number counts by its kind only.\n"
     "TypeError where two dtypes have no common one (uint64 and a signed integer), ValueError without a tensor or "
     "dtype."},
    {"_promote_by_rank", promote_by_rank_function, METH_O,
     "_promote_by_rank(enabled, /)\n--\n\n"
     "Sets for the process whether tensors without axes leave the dtype of others as it is, unless theirs is of a "
     "higher "
     "kind."},
    {"promote_types", as_c_function(promote_types_function), METH_FASTCALL | METH_KEYWORDS,
     "promote_types(type1, type2, /)\n--\n\n"
     "The dtype of a computation with both dtypes. TypeError for uint64 with a signed integer, which no integer dtype "
     "holds."},
    {"can_cast", as_c_function(can_cast_function), METH_FASTCALL | METH_KEYWORDS,
     "can_cast(from_, to, /)\n--\n\n"
     "True if a dtype, or a tensor's, is promoted to the dtype `to`: a computation with both gives `to`."},
    {"isdtype", as_c_function(isdtype), METH_FASTCALL | METH_KEYWORDS,
     "isdtype(dtype, kind)\n--\n\n"
     "True if a dtype is of a kind: a dtype, one of 'bool', 'signed integer', 'unsigned integer', 'integral', 'real "
     "floating',\n"
     "'complex floating', 'numeric', or a tuple of these."},
    {"_float_limits", float_limits_function, METH_O,
     "_float_limits(type, /)\n--\n\nReturns the limits for finfo: bits, eps, max, smallest_normal, dtype."},
    {"_integer_limits", integer_limits_function, METH_O,
     "_integer_limits(type, /)\n--\n\nReturns the limits for iinfo: bits, min, max, dtype."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* dtype_functions() { return dtype_method_defs; }

}  // namespace lamella::python
