#include "python/bindings/numpy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "engine/autograd/backward/lent.h"
#include "engine/autograd/layers/host_values.h"
#include "engine/core/exports.h"
#include "engine/core/foreign.h"
#include "engine/core/modes.h"
#include "ops/movement/cast.h"
#include "python/bindings/capture.h"
#include "python/bindings/errors.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

/// numpy's types, once it has been imported; borrowed references, valid for ever.
struct NumpyTypes {
  PyTypeObject* array = nullptr;
  PyTypeObject* scalar = nullptr;
  PyTypeObject* dtype = nullptr;
};

PyTypeObject* type_in(PyObject* module, const char* name) {
  PyObject* type = PyObject_GetAttrString(module, name);
  if (!type || !PyType_Check(type)) {
    Py_XDECREF(type);
    PyErr_Clear();
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject*>(type);
}

const NumpyTypes& numpy_types() noexcept {
  static constexpr NumpyTypes kNone;
  static std::atomic<const NumpyTypes*> types{&kNone};
  if (const NumpyTypes* known = types.load(std::memory_order_acquire); known->array) return *known;
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* numpy = modules ? PyDict_GetItemString(modules, "numpy") : nullptr;
  if (!numpy) return kNone;
  NumpyTypes found{
      .array = type_in(numpy, "ndarray"), .scalar = type_in(numpy, "generic"), .dtype = type_in(numpy, "dtype")};
  // While numpy itself is being imported, some of its types may be missing.
  if (!found.array || !found.scalar || !found.dtype) return kNone;
  types.store(new NumpyTypes(found), std::memory_order_release);  // never freed
  return *types.load(std::memory_order_acquire);
}

/// False for objects of Python's common built-in types, which cannot be numpy's: this saves the look-up for numbers,
/// strings and lists.
bool may_be_numpy(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return type != &PyFloat_Type && type != &PyLong_Type && type != &PyBool_Type && type != &PyList_Type &&
         type != &PyTuple_Type && type != &PyUnicode_Type && object != Py_None;
}

/// Format characters of the buffer protocol, indexed by DType; bfloat16 has none.
constexpr std::array<const char*, kDTypeCount> kFormats{"?", "b", "h",     "i", "l", "B",  "H", "I",
                                                        "L", "e", nullptr, "f", "d", "Zf", "Zd"};

std::optional<DType> dtype_of_format(std::string_view format, std::size_t itemsize) {
  if (!format.empty() &&
      (format[0] == '@' || format[0] == '=' || format[0] == (std::endian::native == std::endian::little ? '<' : '>'))) {
    format.remove_prefix(1);
  }
  constexpr std::string_view kSigned = "bhilqn", kUnsigned = "BHILQN";
  if (format.size() == 1) {
    // The item's size decides, as the sizes of C's integers differ between platforms and prefixes.
    const auto integer = [&](DType smallest) -> std::optional<DType> {
      if (!std::has_single_bit(itemsize) || itemsize > 8) return std::nullopt;
      return static_cast<DType>(static_cast<int>(smallest) + std::countr_zero(itemsize));
    };
    if (kSigned.find(format[0]) != std::string_view::npos) return integer(DType::Int8);
    if (kUnsigned.find(format[0]) != std::string_view::npos) return integer(DType::UInt8);
  }
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kFormats[i] && format == kFormats[i] && itemsize == kItemSizes[i]) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// Holds what an exported buffer refers to from get_buffer to release_buffer.
struct Exported {
  explicit Exported(const Tensor& x) : export_of(*x->storage, may_be_saved(x)) {}
  Dims shape;
  Dims strides;
  const lamella::Export export_of;
};

/// Frees a Py_buffer, on any thread that drops the last tensor.
void free_view(void* context) {
  auto* view = static_cast<Py_buffer*>(context);
  if (!python_is_alive()) return;
  const GilHold gil;
  PyBuffer_Release(view);
  delete view;
}

struct ViewDeleter {
  void operator()(Py_buffer* view) const { free_view(view); }
};

PyObject* element_object(DType dtype, const char* at) {
  return visit<AnyDType>(dtype, "item", [&]<class T> {
    T value;
    std::memcpy(&value, at, sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      return PyBool_FromLong(value);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return PyFloat_FromDouble(static_cast<float>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      return PyFloat_FromDouble(value);
    } else if constexpr (std::is_unsigned_v<T>) {
      return PyLong_FromUnsignedLongLong(value);
    } else if constexpr (std::is_integral_v<T>) {
      return PyLong_FromLongLong(value);
    } else {
      return PyComplex_FromDoubles(value.real(), value.imag());
    }
  });
}

PyObject* nested_list(const Tensor& x, std::size_t axis, const char* at) {
  if (axis == x.ndim()) return checked(element_object(x.dtype(), at));
  const std::int64_t stride = x.strides()[axis] * static_cast<std::int64_t>(item_size(x.dtype()));
  PyRef list = PyRef::adopt(checked(PyList_New(x.shape()[axis])));
  for (std::int64_t i = 0; i < x.shape()[axis]; ++i)
    PyList_SET_ITEM(list.get(), i, nested_list(x, axis + 1, at + i * stride));
  return list.release();
}

/// Returns x on the CPU, where its values can be read.
Tensor on_cpu(const Tensor& x, const char* op) {
  if (x.device().is_meta()) fail<RuntimeError>("[", op, "] a meta tensor has no values");
  if (x.device().is_cpu()) return x;
  const autograd::NoGrad scope;
  return to_device(x, kCPU);
}

/// Returns a numpy array on the memory of a CPU tensor's object.
PyRef array_of(PyObject* tensor) {
  static PyObject* asarray =
      nullptr;  // not initialized by an import: that could wait for a thread that waits for this initializer
  if (!asarray) asarray = numpy_function("asarray").release();
  const PyRef view = PyRef::adopt(checked(PyMemoryView_FromObject(tensor)));
  return PyRef::adopt(checked(PyObject_CallOneArg(asarray, view.get())));
}

}  // namespace

bool is_numpy_array(PyObject* object) noexcept {
  if (!may_be_numpy(object)) return false;
  const NumpyTypes& types = numpy_types();
  return types.array && PyObject_TypeCheck(object, types.array);
}

bool is_numpy_scalar(PyObject* object) noexcept {
  if (!may_be_numpy(object)) return false;
  const NumpyTypes& types = numpy_types();
  return types.scalar && PyObject_TypeCheck(object, types.scalar);
}

bool is_numpy_bool(PyObject* object) noexcept {
  if (!is_numpy_scalar(object)) return false;
  const std::string_view name = Py_TYPE(object)->tp_name;
  return name == "numpy.bool" || name == "numpy.bool_";
}

PyRef numpy_dtype_name(PyObject* object) {
  const NumpyTypes& types = numpy_types();
  if (!types.dtype) return {};
  const bool scalar_type =
      PyType_Check(object) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object), types.scalar);
  if (!scalar_type && !PyObject_TypeCheck(object, types.dtype)) return {};
  const PyRef dtype = PyRef::adopt(checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(types.dtype), object)));
  const PyRef native = PyRef::adopt(checked(PyObject_GetAttrString(dtype.get(), "isnative")));
  if (native.get() != Py_True) return {};
  return PyRef::adopt(checked(PyObject_GetAttrString(dtype.get(), "name")));
}

PyRef numpy_function(const char* name) {
  const PyRef numpy = PyRef::adopt(checked(PyImport_ImportModule("numpy")));
  return PyRef::adopt(checked(PyObject_GetAttrString(numpy.get(), name)));
}

void leave_tape(const Tensor& x, const char* op) {
  if (x->hidden) x.refuse_batched(op);
  if (autograd::is_grad_enabled() && x.requires_grad()) {
    fail<RuntimeError>("[", op, "] the tensor wants a gradient, which would be lost here: call x.detach().", op,
                       "() instead");
  }
  autograd::refuse_dual_escape(x, op);
  autograd::note_escape(x);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded([&]() -> int {
    if (is_capturing()) capture_call("read", self, nullptr, 0, nullptr);
    const Tensor& x = tensor_of(self);
    if (!x.device().is_cpu()) fail<RuntimeError>("[numpy] the tensor is on ", x.device(), ": call x.cpu() first");
    const char* format = kFormats[static_cast<std::size_t>(x.dtype())];
    if (!format)
      fail<TypeError>("[numpy] numpy has no ", x.dtype(),
                      ": cast to another dtype first, for example x.astype('float32')");
    if (x->storage->has_mark(Storage::kReadOnly) && (flags & PyBUF_WRITABLE))
      fail<ValueError>(
          "[numpy] the tensor's memory is read-only, and the consumer wants to write: pass a copy (x.clone())");
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!wants_strides && !x.is_contiguous())
      fail<ValueError>(
          "[numpy] the tensor is not contiguous, and the consumer takes no strides: call x.contiguous() first");
    leave_tape(x, "numpy");
    if (x->storage->has_mark(Storage::kLent)) autograd::end_loan(*x->storage);
    auto exported = std::make_unique<Exported>(x);
    exported->shape = x.shape();
    const auto itemsize = static_cast<std::int64_t>(item_size(x.dtype()));
    for (const std::int64_t stride : x.strides()) exported->strides.push_back(stride * itemsize);
    view->buf = x.raw_data();
    view->len = x.numel() * itemsize;
    view->itemsize = itemsize;
    view->readonly = x->storage->has_mark(Storage::kReadOnly);
    view->ndim = static_cast<int>(x.ndim());
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) ? reinterpret_cast<Py_ssize_t*>(exported->shape.data()) : nullptr;
    view->strides = wants_strides ? reinterpret_cast<Py_ssize_t*>(exported->strides.data()) : nullptr;
    view->suboffsets = nullptr;
    view->internal = exported.release();
    view->obj = Py_NewRef(self);
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

PyObject* tensor_to_numpy(PyObject* self) {
  const Tensor& x = tensor_of(self);
  leave_tape(x, "numpy");
  if (x.device().is_cpu()) return array_of(self).release();
  return array_of(wrap_ref(on_cpu(x, "numpy")).get()).release();
}

PyObject* tensor_array(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("__array__", "dtype=None, copy=None");
    const auto values = signature.bound<2>(args, count, keywords);
    PyRef array = PyRef::adopt(tensor_to_numpy(self));
    if (values[0] != Py_None) {
      const PyRef asarray = numpy_function("asarray");
      PyRef converted =
          PyRef::adopt(checked(PyObject_CallFunctionObjArgs(asarray.get(), array.get(), values[0], nullptr)));
      if (converted.get() != array.get()) {
        if (values[1] == Py_False)
          fail<ValueError>("[__array__] copy=False, but the conversion to another dtype takes a copy");
        return converted.release();
      }
    }
    if (values[1] == Py_True) return checked(PyObject_CallMethod(array.get(), "copy", nullptr));
    return array.release();
  });
}

Tensor with_bools_of_one(const Tensor& x) {
  if (x.dtype() != DType::Bool || !x.device().is_cpu() || x.numel() == 0) return x;
  const Tensor dense = x.is_contiguous() ? x : clone(x);
  const auto count = static_cast<std::size_t>(x.numel());
  unsigned seen = 0;
  for (const unsigned char byte : std::span(static_cast<const unsigned char*>(dense.raw_data()), count)) seen |= byte;
  if (seen <= 1) return x;
  const Tensor result = dense.same(x) ? clone(x) : dense;
  for (unsigned char& byte : std::span(static_cast<unsigned char*>(result.raw_data()), count)) byte = byte != 0;
  return result;
}

Tensor tensor_from_buffer(PyObject* object, const char* op, bool& shared) {
  shared = false;
  std::unique_ptr<Py_buffer, ViewDeleter> view(new Py_buffer());
  if (PyObject_GetBuffer(object, view.get(), PyBUF_FULL_RO) != 0) {
    // numpy raises ValueError for dtypes that the buffer protocol cannot express (dates, for example).
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_BufferError)) throw_python_error();
    PyErr_Clear();
    fail<TypeError>("[", op, "] cannot make a tensor of this ", type_name(object),
                    ": no dtype of a tensor corresponds to its elements");
  }
  const std::string_view format = view->format ? view->format : "B";
  const auto itemsize = static_cast<std::size_t>(view->itemsize);
  const std::optional<DType> dtype = dtype_of_format(format, itemsize);
  if (!dtype) {
    const bool swapped = format.size() > 1 && (format[0] == '>' || format[0] == '!' || format[0] == '<');
    fail<TypeError>("[", op, "] cannot take elements of format '", format, "' from a ", type_name(object),
                    swapped ? ": their bytes are in another order than this machine's" : "");
  }
  if (view->suboffsets) fail<TypeError>("[", op, "] cannot take a buffer with suboffsets");

  Dims shape, strides;
  bool in_place =
      !view->readonly && reinterpret_cast<std::uintptr_t>(view->buf) % std::min<std::size_t>(itemsize, 8) == 0;
  for (int i = 0; i < view->ndim; ++i) {
    shape.push_back(view->shape[i]);
    const Py_ssize_t stride = view->strides ? view->strides[i] : 0;
    if (view->shape[i] > 1 && (stride < 0 || stride % view->itemsize != 0)) in_place = false;
    strides.push_back(view->shape[i] > 1 ? stride / view->itemsize : 1);
  }
  if (!view->strides) strides = contiguous_strides(shape);
  if (in_place) {
    shared = true;
    Tensor x = from_memory(view->buf, shape, strides, *dtype, kCPU, free_view, view.get());
    note_imported(x);
    static_cast<void>(view.release());  // owned by the tensor now
    Tensor clean = with_bools_of_one(x);
    shared = clean.same(x);
    return clean;
  }
  Tensor copy = empty(shape, *dtype);
  checked(PyBuffer_ToContiguous(copy.raw_data(), view.get(), view->len, 'C'));
  return with_bools_of_one(copy);
}

PyObject* tensor_item(const Tensor& x, const char* op) {
  if (x->hidden) x.refuse_batched(op);
  if (x.numel() != 1) fail<ValueError>("[", op, "] expected a tensor with one element, this one is ", describe(x));
  // A number that decides which code runs, a condition or an index, is not part of the computed values.
  const std::string_view what = op;
  if (what != "bool" && what != "int" && what != "index") {
    autograd::refuse_dual_escape(x, op);
    autograd::note_escape(x);
    if (is_differentiable(x.dtype())) autograd::note_host_number();
  }
  const Tensor readable = on_cpu(x, op);
  return checked(element_object(x.dtype(), static_cast<const char*>(readable.raw_data())));
}

PyObject* tensor_to_list(const Tensor& x) {
  if (x->hidden) x.refuse_batched("tolist");
  autograd::refuse_dual_escape(x, "tolist");
  autograd::note_escape(x);
  const Tensor readable = on_cpu(x, "tolist");
  return nested_list(readable, 0, static_cast<const char*>(readable.raw_data()));
}

}  // namespace lamella::python
