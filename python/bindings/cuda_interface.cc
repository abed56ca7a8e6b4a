#include "python/bindings/cuda_interface.h"

#include <cstdint>
#include <string>

#include "engine/core/foreign.h"
#include "engine/runtime/device_query.h"
#include "engine/runtime/streams.h"
#include "ops/movement/cast.h"
#include "python/bindings/adapted.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/numpy.h"
#include "python/bindings/py_ref.h"

// The protocol by which libraries of CUDA arrays show each other memory:
// https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html

namespace lamella::python {
namespace {

/// Returns a member of the interface; an empty reference if it is None or missing.
PyRef member(PyObject* interface, const char* name) {
  PyObject* const found = PyDict_GetItemString(interface, name);
  return found && found != Py_None ? PyRef::share(found) : PyRef();
}

PyRef wanted(PyObject* interface, const char* name, const char* op) {
  PyRef found = member(interface, name);
  if (!found) fail<ValueError>("[", op, "] __cuda_array_interface__ has no '", name, "'");
  return found;
}

Dims read_sizes(PyObject* tuple, const char* name, const char* op) {
  if (!PyTuple_Check(tuple)) fail<TypeError>("[", op, "] __cuda_array_interface__: '", name, "' is no tuple");
  Dims result;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    result.push_back(Adapted<std::int64_t>::from(PyTuple_GET_ITEM(tuple, i)));
  return result;
}

/// Returns the dtype of numpy's name for it, such as "<f4".
DType dtype_of_text(const std::string& text, const char* op) {
  if (text.size() >= 3 && text[0] != '>') {
    const std::string bytes = text.substr(2);
    for (std::size_t i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      const char kind = dtype == DType::Bool            ? 'b'
                        : is_complex(dtype)             ? 'c'
                        : dtype == DType::BFloat16      ? 'V'
                        : is_floating(dtype)            ? 'f'
                        : SignedInteger.contains(dtype) ? 'i'
                                                        : 'u';
      if (kind == text[1] && bytes == std::to_string(item_size(dtype))) return dtype;
    }
  }
  fail<TypeError>("[", op, "] no dtype corresponds to '", text, "' in __cuda_array_interface__");
}

void let_go(void* object) {
  if (!python_is_alive()) return;
  const GilHold gil;
  Py_DECREF(static_cast<PyObject*>(object));
}

}  // namespace

Tensor tensor_from_cuda_interface(PyObject* object, const char* op, bool may_copy) {
  const PyRef interface = PyRef::adopt(checked(PyObject_GetAttrString(object, "__cuda_array_interface__")));
  if (!PyDict_Check(interface.get())) fail<TypeError>("[", op, "] __cuda_array_interface__ is no dict");
  if (member(interface.get(), "mask")) fail<ValueError>("[", op, "] an array with a mask has no form as a tensor");
  const PyRef data = wanted(interface.get(), "data", op);
  if (!PyTuple_Check(data.get()) || PyTuple_GET_SIZE(data.get()) != 2)
    fail<TypeError>("[", op, "] __cuda_array_interface__: 'data' is no tuple of an address and a bool");
  const Dims shape = read_sizes(wanted(interface.get(), "shape", op).get(), "shape", op);
  const DType dtype = dtype_of_text(Adapted<std::string>::from(wanted(interface.get(), "typestr", op).get()), op);
  Dims strides = contiguous_strides(shape);
  if (const PyRef given = member(interface.get(), "strides")) {
    strides = read_sizes(given.get(), "strides", op);
    const auto item = static_cast<std::int64_t>(item_size(dtype));
    if (strides.size() != shape.size())
      fail<ValueError>("[", op, "] __cuda_array_interface__: shape and strides have different lengths");
    for (std::int64_t& stride : strides) {
      if (stride % item != 0)
        fail<ValueError>("[", op, "] strides of whole elements are wanted, got one of ", stride, " bytes");
      stride /= item;
    }
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is the protocol's
  void* const address = PyLong_AsVoidPtr(PyTuple_GET_ITEM(data.get(), 0));
  if (!address && PyErr_Occurred()) throw_python_error();
  Device device(DeviceType::CUDA, current_cuda_device());
  StreamRuntime& runtime = stream_runtime(device);
  if (count_elements(shape) > 0) {
    const int index = runtime.device_of(address);
    if (index < 0) fail<ValueError>("[", op, "] __cuda_array_interface__: the address is not in a device's memory");
    device = Device(DeviceType::CUDA, index);
  }
  if (const PyRef stream = member(interface.get(), "stream")) {
    const std::int64_t number = Adapted<std::int64_t>::from(stream.get());
    if (number == 0) fail<ValueError>("[", op, "] __cuda_array_interface__: stream 0 is ambiguous, and not allowed");
    // NOLINTNEXTLINE(performance-no-int-to-ptr): another library's stream; 1 is the default one
    void* const theirs = number == 1 ? nullptr : reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
    runtime.order(device, theirs, runtime.current(device));
  }
  Py_INCREF(object);
  Tensor x = from_memory(address, shape, strides, dtype, device, let_go, object);
  note_imported(x);
  if (Adapted<bool>::from(PyTuple_GET_ITEM(data.get(), 1))) x->storage->set_mark(Storage::kReadOnly);
  bool backwards = false;
  for (const std::int64_t stride : strides) backwards |= stride < 0;
  if (!backwards) return x;
  if (!may_copy) fail<ValueError>("[", op, "] copy=False, but the array runs backwards");
  return clone(x);
}

}  // namespace lamella::python
