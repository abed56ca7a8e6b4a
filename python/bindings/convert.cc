#include "python/bindings/convert.h"

#include "engine/autograd/layers/host_values.h"
#include "engine/core/modes.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/numpy.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

/// Reads the value of an object with __index__; false if it does not fit into 64 bits.
bool index_value(PyObject* object, std::int64_t& value) {
  const PyRef number = PyLong_Check(object) ? PyRef::share(object) : PyRef::adopt(checked(PyNumber_Index(object)));
  int overflow = 0;
  value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (value == -1 && PyErr_Occurred()) throw_python_error();
  return overflow == 0;
}

bool has_float(PyObject* object) {
  const PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
  return methods && methods->nb_float;
}

}  // namespace

const Tensor& read_tensor(PyObject* object, const Argument& argument) {
  if (is_tensor(object)) return tensor_of(object);
  if (is_numpy_array(object) || PyList_Check(object) || PyTuple_Check(object)) {
    argument.wrong_type("a Tensor (lm.asarray makes one)", object);
  }
  argument.wrong_type(ArgumentType<Tensor>::expected, object);
}

std::optional<std::int64_t> as_index(PyObject* object, const Argument& argument) {
  if (PyLong_CheckExact(object)) {  // the common case: no call of __index__
    int overflow = 0;
    const std::int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return value;
  }
  if (PyBool_Check(object) || !PyIndex_Check(object)) return std::nullopt;
  std::int64_t value = 0;
  if (!index_value(object, value)) argument.wrong_value("the integer does not fit into 64 bits");
  return value;
}

std::int64_t read_int(PyObject* object, const Argument& argument) {
  const std::optional<std::int64_t> value = as_index(object, argument);
  if (!value) argument.wrong_type(ArgumentType<std::int64_t>::expected, object);
  return *value;
}

double read_double(PyObject* object, const Argument& argument) {
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (PyBool_Check(object) || PyComplex_Check(object) || !(has_float(object) || PyIndex_Check(object))) {
    argument.wrong_type(ArgumentType<double>::expected, object);
  }
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw_python_error();
    PyErr_Clear();
    argument.wrong_value("the integer is too large for a float");
  }
  return value;
}

bool read_bool(PyObject* object, const Argument& argument) {
  if (!is_numpy_scalar(object) || std::string_view(type_name(object)).find("bool") == std::string_view::npos) {
    argument.wrong_type(ArgumentType<bool>::expected, object);
  }
  return checked(PyObject_IsTrue(object)) != 0;
}

namespace {

/// Converts an object with __index__ to a number: an int64, or a uint64 if int64 does not hold it.
Scalar integer_scalar(PyObject* object) {
  std::int64_t integer = 0;
  if (index_value(object, integer)) return integer;
  const PyRef number = PyRef::adopt(checked(PyNumber_Index(object)));
  const unsigned long long large = PyLong_AsUnsignedLongLong(number.get());
  if (large == static_cast<unsigned long long>(-1) && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw_python_error();
    PyErr_Clear();
    fail<ValueError>("[Tensor] an integer operand does not fit into 64 bits");
  }
  return static_cast<std::uint64_t>(large);
}

}  // namespace

bool as_scalar(PyObject* object, Scalar& value) {
  if (PyFloat_Check(object)) {
    // A numpy scalar may have been computed from a tensor's values that left the tape.
    if (!PyFloat_CheckExact(object) && autograd::modes().escaped) [[unlikely]]
      autograd::note_host_number();
    value = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyBool_Check(object)) {
    value = object == Py_True;
    return true;
  }
  if (PyLong_Check(object)) {
    value = integer_scalar(object);
    return true;
  }
  if (PyComplex_Check(object)) {
    const Py_complex z = PyComplex_AsCComplex(object);
    value = std::complex<double>(z.real, z.imag);
    return true;
  }
  if (!is_numpy_scalar(object)) return false;
  if (autograd::modes().escaped) [[unlikely]]
    autograd::note_host_number();
  const char* name = type_name(object);
  if (std::string_view(name).find("bool") != std::string_view::npos) {
    value = checked(PyObject_IsTrue(object)) != 0;
    return true;
  }
  if (PyIndex_Check(object)) {
    value = integer_scalar(object);
    return true;
  }
  if (std::string_view(name).find("complex") != std::string_view::npos) {
    const Py_complex z = PyComplex_AsCComplex(object);
    if (z.real == -1.0 && PyErr_Occurred()) throw_python_error();
    value = std::complex<double>(z.real, z.imag);
    return true;
  }
  if (std::string_view(name).find("float") == std::string_view::npos) return false;
  const double real = PyFloat_AsDouble(object);
  if (real == -1.0 && PyErr_Occurred()) throw_python_error();
  value = real;
  return true;
}

Scalar read_scalar(PyObject* object, const Argument& argument) {
  Scalar value = 0;
  if (as_scalar(object, value)) return value;
  if (is_tensor(object) && tensor_of(object).ndim() == 0) {
    const PyRef item = PyRef::adopt(tensor_item(tensor_of(object), argument.signature.function()));
    if (as_scalar(item.get(), value)) return value;
  }
  argument.wrong_type(ArgumentType<Scalar>::expected, object);
}

Dims read_dims(PyObject* object, const Argument& argument) {
  const bool listed = PyTuple_Check(object) || PyList_Check(object);
  if (!listed) {
    const bool array = is_numpy_array(object) || (is_tensor(object) && tensor_of(object).ndim() > 0);
    if (is_tensor(object) && !is_integral(tensor_of(object).dtype())) {
      argument.wrong_type(ArgumentType<Dims>::expected, object);
    }
    if (!PyBool_Check(object) && PyIndex_Check(object) && !array) return {read_int(object, argument)};
  }
  if (!listed && (PyUnicode_Check(object) || PyBytes_Check(object) || !PySequence_Check(object))) {
    argument.wrong_type(ArgumentType<Dims>::expected, object);
  }
  const PyRef items = PyRef::adopt(PySequence_Fast(object, "expected a sequence"));
  if (!items) throw_python_error();
  Dims dims;
  // An item's __index__ may change the list: the size is read again for each item, and the item is held.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const PyRef item = PyRef::share(PySequence_Fast_GET_ITEM(items.get(), i));
    const std::optional<std::int64_t> value = as_index(item.get(), argument);
    if (!value) argument.wrong_type(ArgumentType<Dims>::expected, item.get());
    dims.push_back(*value);
  }
  return dims;
}

DType read_dtype(PyObject* object, const Argument& argument) {
  DType dtype{};
  if (!as_dtype(object, dtype)) {
    if (PyUnicode_Check(object)) {
      argument.wrong_value(lamella::str("there is no dtype '", checked(PyUnicode_AsUTF8(object)), "'"));
    }
    argument.wrong_type(ArgumentType<DType>::expected, object);
  }
  return dtype;
}

Device read_device(PyObject* object, const Argument& argument) { return Device::parse(read_text(object, argument)); }

std::string_view read_text(PyObject* object, const Argument& argument) {
  if (!PyUnicode_Check(object)) argument.wrong_type(ArgumentType<std::string_view>::expected, object);
  Py_ssize_t size = 0;
  const char* text = checked(PyUnicode_AsUTF8AndSize(object, &size));
  return {text, static_cast<std::size_t>(size)};
}

std::vector<Tensor> read_tensors(PyObject* object, const Argument& argument) {
  if (!PyList_Check(object) && !PyTuple_Check(object))
    argument.wrong_type(ArgumentType<std::vector<Tensor>>::expected, object);
  std::vector<Tensor> tensors;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  tensors.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (!is_tensor(item)) fail<TypeError>(argument.str(), ": item ", i, " is ", type_name(item), ", expected a Tensor");
    tensors.push_back(tensor_of(item));
  }
  return tensors;
}

}  // namespace lamella::python
