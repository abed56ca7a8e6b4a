#include "python/bindings/registry_values.h"

#include <cstring>
#include <string_view>

#include "engine/core/error.h"
#include "engine/registry/dtype_numbers.h"
#include "python/bindings/containers.h"
#include "python/bindings/convert.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/generator_object.h"
#include "python/bindings/numpy.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {

using registry::Arg;
using registry::Type;
using registry::Value;

void* CallStorage::take_heap(std::size_t bytes) {
  return heap_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
}

Tensor* CallStorage::make_tensors(std::size_t count) {
  auto* const first = static_cast<Tensor*>(take(count * sizeof(Tensor)));
  std::uninitialized_default_construct_n(first, count);
  tensors_.emplace_back(first, count);
  return first;
}

namespace {

[[noreturn, gnu::cold]] void wrong_type(const Type& type, const ValuePlace& place, PyObject* got) {
  std::string hint;
  if (type.base == Type::Base::Tensor && !type.list &&
      (is_numpy_array(got) || PyList_Check(got) || PyTuple_Check(got))) {
    hint = " (lm.asarray makes a Tensor)";
  }
  fail<TypeError>(place.str(), ": expected ", type.str(), ", got ", type_name(got), hint);
}

/// Returns the number in a tensor of one element, of any shape; null for other objects.
PyRef item_of(PyObject* object, const ValuePlace& place) {
  if (!is_tensor(object) || tensor_of(object).numel() != 1) return {};
  return PyRef::adopt(tensor_item(tensor_of(object), place.op.c_str()));
}

bool is_number_array(PyObject* object) {
  return is_numpy_array(object) || (is_tensor(object) && tensor_of(object).ndim() > 0);
}

bool as_truth(PyObject* object, bool& value) {
  value = object == Py_True;
  if (PyBool_Check(object)) return true;
  if (!is_numpy_scalar(object) || std::string_view(type_name(object)).find("bool") == std::string_view::npos) {
    return false;
  }
  value = checked(PyObject_IsTrue(object)) != 0;
  return true;
}

/// Reads an integer; a truth is 0 or 1, as in PyTorch, and a tensor of one integer is that. False for other objects.
bool as_integer(PyObject* object, const ValuePlace& place, std::int64_t& value) {
  if (!PyLong_Check(object)) {
    if (const PyRef item = item_of(object, place)) {
      return PyLong_Check(item.get()) && as_integer(item.get(), place, value);
    }
    if (bool truth = false; as_truth(object, truth)) {
      value = truth;
      return true;
    }
    if (!PyIndex_Check(object) || is_number_array(object)) return false;
  }
  const PyRef number = PyLong_Check(object) ? PyRef::share(object) : PyRef::adopt(checked(PyNumber_Index(object)));
  int overflow = 0;
  value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (value == -1 && PyErr_Occurred()) throw_python_error();
  if (overflow) fail<ValueError>(place.str(), ": the integer does not fit into 64 bits");
  return true;
}

bool as_double(PyObject* object, const ValuePlace& place, double& value) {
  if (PyFloat_Check(object)) {
    value = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (const PyRef item = item_of(object, place)) return as_double(item.get(), place, value);
  const PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
  if (PyComplex_Check(object) || is_number_array(object) ||
      !((methods && methods->nb_float) || PyIndex_Check(object))) {
    return false;
  }
  value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) throw_python_error();
  return true;
}

/// Reads a truth, or whether a number, also that in a tensor of one element, is not 0. False for other objects.
bool as_number_or_truth(PyObject* object, const ValuePlace& place, bool& value) {
  if (as_truth(object, value)) return true;
  if (const PyRef item = item_of(object, place)) {
    value = checked(PyObject_IsTrue(item.get())) != 0;
    return true;
  }
  double number = 0;
  if (!as_double(object, place, number)) return false;
  value = number != 0;
  return true;
}

bool as_text(PyObject* object, std::string_view& value) {
  if (!PyUnicode_Check(object)) return false;
  Py_ssize_t size = 0;
  const char* const text = checked(PyUnicode_AsUTF8AndSize(object, &size));
  value = {text, static_cast<std::size_t>(size)};
  return true;
}

/// Returns the items of a list or tuple, or of another sequence that is no text; null for other objects.
PyRef items_of(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return PyRef::share(object);
  if (PyUnicode_Check(object) || PyBytes_Check(object) || is_tensor(object) || !PySequence_Check(object)) return {};
  return PyRef::adopt(checked(PySequence_Fast(object, "expected a sequence")));
}

/// Reads each item by `read(item, slot)`. A single value stands for a list of a fixed size, and for one item of
/// StrOrInts.
template <class T, class Read>
Arg read_list(PyObject* object, const Type& type, const ValuePlace& place, CallStorage& storage, Read&& read) {
  const auto read_item = [&](PyObject* item, T& slot) {
    if (!read(item, slot)) wrong_type(type, place, item);
  };
  const PyRef items = items_of(object);
  if (!items) {
    T value{};
    if (type.base == Type::Base::Tensor || (!type.list_size && type.base != Type::Base::StrOrInts) ||
        !read(object, value)) {
      wrong_type(type, place, object);
    }
    const std::size_t count = type.list_size ? type.list_size : 1;
    T* const values = storage.make<T>(count);
    std::fill_n(values, count, value);
    return Arg(std::span<const T>(values, count));
  }
  // As in PyTorch, a list of another length than the schema's is the kernel's to judge, as one without values is.
  const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get()));
  T* const values = storage.make<T>(count);
  for (std::size_t i = 0; i < count; ++i) {
    // An item's __index__ may have changed the list.
    if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get())) != count) {
      fail<ValueError>(place.str(), ": the list changed while it was read");
    }
    const PyRef item = PyRef::share(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)));
    read_item(item.get(), values[i]);
  }
  return Arg(std::span<const T>(values, count));
}

Arg read_tensor_list(PyObject* object, const Type& type, const ValuePlace& place, CallStorage& storage) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) wrong_type(type, place, object);
  const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(object));
  Tensor* const tensors = storage.make_tensors(count);
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
    if (item == Py_None && type.optional_elements) continue;
    if (!is_tensor(item)) {
      fail<TypeError>(place.str(), ": item ", i, " of ", type.str(), " is ", type_name(item), ", expected a Tensor",
                      type.optional_elements ? " or None" : "");
    }
    tensors[i] = tensor_of(item);
  }
  return std::span<const Tensor>(tensors, count);
}

Arg read_text_list(PyObject* object, const Type& type, const ValuePlace& place, CallStorage& storage) {
  return read_list<std::string_view>(object, type, place, storage, [&](PyObject* item, std::string_view& slot) {
    std::string_view text;
    if (!as_text(item, text)) return false;
    // The text is copied, as the list may lose its items before the call ends.
    char* const copy = storage.make<char>(text.size() + 1);
    std::memcpy(copy, text.data(), text.size());
    slot = {copy, text.size()};
    return true;
  });
}

Arg read_lists(PyObject* object, const Type& type, const ValuePlace& place, CallStorage& storage) {
  switch (type.base) {
    case Type::Base::Tensor:
      return read_tensor_list(object, type, place, storage);
    case Type::Base::Float:
      return read_list<double>(object, type, place, storage,
                               [&](PyObject* item, double& slot) { return as_double(item, place, slot); });
    case Type::Base::Bool:
      return read_list<bool>(object, type, place, storage,
                             [&](PyObject* item, bool& slot) { return as_number_or_truth(item, place, slot); });
    case Type::Base::Str:
      return read_text_list(object, type, place, storage);
    default:
      return read_list<std::int64_t>(object, type, place, storage,
                                     [&](PyObject* item, std::int64_t& slot) { return as_integer(item, place, slot); });
  }
}

Arg read_scalar_value(PyObject* object, const Type& type, const ValuePlace& place, CallStorage& storage) {
  Scalar value = 0;
  if (!as_scalar(object, value)) {
    if (!is_tensor(object) || tensor_of(object).ndim() != 0) wrong_type(type, place, object);
    const PyRef item = PyRef::adopt(tensor_item(tensor_of(object), place.op.c_str()));
    if (!as_scalar(item.get(), value)) wrong_type(type, place, object);
  }
  Scalar* const kept = storage.make<Scalar>(1);
  return *new (kept) Scalar(value);
}

/// Reads a generator as built-in operators do, whose messages name a signature.
Arg read_generator_value(PyObject* object, const ValuePlace& place) {
  static const Signature signature("operator", "generator");
  try {
    return read_generator(object, {signature, 0});
  } catch (const TypeError&) {
    fail<TypeError>(place.str(), ": expected a Generator, got ", type_name(object));
  }
}

}  // namespace

Arg read_value(PyObject* object, const Type& type, const ValuePlace& place, CallStorage& storage) {
  if (object == Py_None) {
    if (!type.optional) wrong_type(type, place, object);
    return {};
  }
  if (type.list) return read_lists(object, type, place, storage);
  switch (type.base) {
    case Type::Base::Tensor:
      if (!is_tensor(object)) break;
      return tensor_of(object);
    case Type::Base::TensorOrScalar:
      if (is_tensor(object)) return tensor_of(object);
      return read_scalar_value(object, type, place, storage);
    case Type::Base::Int:
      if (std::int64_t value = 0; as_integer(object, place, value)) return value;
      break;
    case Type::Base::Float:
      if (double value = 0; as_double(object, place, value)) return value;
      break;
    case Type::Base::Bool:
      if (bool value = false; as_number_or_truth(object, place, value)) return value;
      break;
    case Type::Base::Str:
      if (std::string_view value; as_text(object, value)) return value;
      break;
    case Type::Base::Scalar:
      return read_scalar_value(object, type, place, storage);
    case Type::Base::DType:
      if (DType value{}; as_dtype(object, value)) return value;
      if (PyLong_CheckExact(object)) {
        std::int64_t number = 0;
        as_integer(object, place, number);
        if (const auto value = registry::dtype_of_number(number)) return *value;
        fail<ValueError>(place.str(), ": there is no dtype ", number);
      }
      break;
    case Type::Base::Device:
      if (std::string_view value; as_text(object, value)) return Device::parse(value);
      break;
    case Type::Base::Generator:
      return read_generator_value(object, place);
    case Type::Base::StrOrInts:
      if (std::string_view value; as_text(object, value)) return value;
      return read_lists(object, type, place, storage);
    case Type::Base::IntOrInts:
      if (std::int64_t value = 0; !items_of(object) && as_integer(object, place, value)) return value;
      return read_lists(object, type, place, storage);
  }
  wrong_type(type, place, object);
}

namespace {

PyRef text_to_python(std::string_view text) {
  return PyRef::adopt(checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
}

PyRef scalar_to_python(const Scalar& value) {
  switch (value.kind()) {
    case Scalar::Kind::Bool:
      return PyRef::share(value.to<bool>() ? Py_True : Py_False);
    case Scalar::Kind::Int:
      return PyRef::adopt(checked(value.beyond_int64() ? PyLong_FromUnsignedLongLong(value.to<std::uint64_t>())
                                                       : PyLong_FromLongLong(value.to<std::int64_t>())));
    case Scalar::Kind::Float:
      return PyRef::adopt(checked(PyFloat_FromDouble(value.to<double>())));
    case Scalar::Kind::Complex:
      break;
  }
  return PyRef::adopt(checked(PyComplex_FromDoubles(value.to<double>(), value.imaginary())));
}

template <class T, class Convert>
PyRef list_to_python(const T* values, std::size_t count, Convert&& convert) {
  return list_from(std::span(values, count), convert);
}

}  // namespace

PyRef value_to_python(const Arg& value) {
  switch (value.kind) {
    case Arg::Kind::None:
      break;
    case Arg::Kind::Tensor:
      return PyRef::adopt(checked(wrap(*value.tensors)));
    case Arg::Kind::Int:
      return PyRef::adopt(checked(PyLong_FromLongLong(value.integer)));
    case Arg::Kind::Float:
      return PyRef::adopt(checked(PyFloat_FromDouble(value.number)));
    case Arg::Kind::Bool:
      return PyRef::share(value.truth ? Py_True : Py_False);
    case Arg::Kind::Str:
      return text_to_python(value.str());
    case Arg::Kind::Scalar:
      return scalar_to_python(*value.scalar);
    case Arg::Kind::DType:
      return PyRef::adopt(checked(dtype_object(value.dtype)));
    case Arg::Kind::Device:
      return text_to_python(value.device.str());
    case Arg::Kind::Generator:
      fail<NotImplementedError>("a Generator cannot be handed to a kernel written in Python");
    case Arg::Kind::Tensors:
      return list_to_python(value.tensors, value.size, [](const Tensor& x) { return PyRef::adopt(checked(wrap(x))); });
    case Arg::Kind::Ints:
      return list_to_python(value.integers, value.size,
                            [](std::int64_t x) { return PyRef::adopt(checked(PyLong_FromLongLong(x))); });
    case Arg::Kind::Floats:
      return list_to_python(value.numbers, value.size,
                            [](double x) { return PyRef::adopt(checked(PyFloat_FromDouble(x))); });
    case Arg::Kind::Bools:
      return list_to_python(value.truths, value.size, [](bool x) { return PyRef::share(x ? Py_True : Py_False); });
    case Arg::Kind::Strs:
      return list_to_python(value.texts, value.size, text_to_python);
  }
  return PyRef::share(Py_None);
}

PyRef value_to_python(Value value) {
  if (value.is_tensor()) [[likely]]
    return PyRef::adopt(checked(wrap(value.take_tensor())));
  return value_to_python(value.view());
}

}  // namespace lamella::python
