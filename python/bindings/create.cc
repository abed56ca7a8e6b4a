#include "python/bindings/create.h"

#include "engine/autograd/layers/host_values.h"
#include "engine/core/default_device.h"
#include "engine/core/modes.h"
#include "ops/movement/cast.h"
#include "python/bindings/containers.h"
#include "python/bindings/convert.h"
#include "python/bindings/cuda_interface.h"
#include "python/bindings/dlpack.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/numpy.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

bool has_attribute(PyObject* object, const char* name) {
  // The attribute is looked up on the type: a class or a module that has such an attribute is not an array.
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), name) != 0;
}

/// Converts x to the requested dtype and device, and copies it if a copy was requested. `shared` is true if x is on
/// memory of the caller.
Tensor finish(Tensor x, const CreateOptions& options, bool shared) {
  const DType dtype = options.dtype.value_or(x.dtype());
  const Device device = options.device.value_or(x.device());
  const bool converts = dtype != x.dtype() || device != x.device();
  if (options.copy == Copy::Never && (converts || !shared)) {
    fail<ValueError>("[", options.op,
                     "] copy=False, but this data, dtype or device takes a copy; leave copy out to allow it");
  }
  if (dtype != x.dtype()) x = cast(x, dtype);
  if (device != x.device()) x = to_device(x, device);
  if (options.copy == Copy::Always && shared && !converts) x = clone(x);
  return x;
}

Tensor from_array_method(PyObject* object, const CreateOptions& options, bool& shared) {
  const PyRef asarray = numpy_function("asarray");
  const PyRef array = PyRef::adopt(checked(PyObject_CallOneArg(asarray.get(), object)));
  if (!is_numpy_array(array.get()))
    fail<TypeError>("[", options.op, "] numpy.asarray(", type_name(object), ") returned no numpy.ndarray");
  return tensor_from_buffer(array.get(), options.op, shared);
}

PyObject* asarray(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("asarray", "obj, /, dtype=None, device=None, copy=None");
    const auto values = signature.bound<4>(args, count, keywords);
    CreateOptions options{.op = "asarray"};
    options.read(values[1], values[2]);
    options.default_to_device(values[0]);
    if (values[3] != Py_None) options.copy = read<bool>(values[3], {signature, 3}) ? Copy::Always : Copy::Never;
    return wrap(create_tensor(values[0], options));
  });
}

PyObject* tensor(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("tensor", "data, dtype=None, device=None, stop_gradient=True");
    const auto values = signature.bound<4>(args, count, keywords);
    CreateOptions options{.op = "tensor", .copy = Copy::Always};
    options.read(values[1], values[2]);
    options.default_to_device(values[0]);
    const bool stop_gradient = read<bool>(values[3], {signature, 3});
    Tensor x;
    {
      const autograd::NoGrad scope;
      x = create_tensor(values[0], options);
    }
    if (!stop_gradient) x.set_stop_gradient(false);
    return wrap(std::move(x));
  });
}

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&]() -> PyObject* {
    if (!is_numpy_array(array)) fail<TypeError>("[from_numpy] expected a numpy.ndarray, got ", type_name(array));
    bool shared = false;
    return wrap(autograd::came_from_host(tensor_from_buffer(array, "from_numpy", shared)));
  });
}

PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("from_dlpack", "x, /, *, device=None, copy=None");
    const auto values = signature.bound<3>(args, count, keywords);
    const std::optional<Device> device = read_optional<Device>(values[1], {signature, 1});
    const std::optional<bool> copy = read_optional<bool>(values[2], {signature, 2});
    Tensor x = autograd::came_from_host(tensor_from_dlpack(values[0], "from_dlpack", copy.value_or(true)));
    if (device && *device != x.device()) {
      if (copy && !*copy) {
        PyErr_SetString(PyExc_BufferError, "[from_dlpack] copy=False, but the array is on another device");
        throw_python_error();
      }
      return wrap(to_device(x, *device));
    }
    return wrap(copy.value_or(false) ? clone(x) : x);
  });
}

PyObject* broadcast_shapes_function(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("broadcast_shapes", "*shapes");
    Dims shape;
    for (Py_ssize_t i = 0; i < count; ++i) {
      const Dims next = read_dims(args[i], {signature, 0});
      count_elements(next);
      shape = broadcast_shapes(shape, next, "broadcast_shapes");
    }
    return tuple_of_ints(shape).release();
  });
}

PyMethodDef creation_method_defs[] = {
    {"asarray", as_c_function(asarray), METH_FASTCALL | METH_KEYWORDS,
     "asarray(obj, /, dtype=None, device=None, copy=None)\n--\n\n"
     "A tensor with the values of `obj`: a number, nested lists or tuples of numbers, a numpy array, a tensor, or an "
     "object with the\n"
     "buffer protocol, `__dlpack__` or `__array__`.\n\n"
     "The memory of an array is shared where it can be (it is writable, and no dtype or device is asked for that it "
     "does not have).\n"
     "`copy=True` always copies, `copy=False` raises ValueError where a copy would be needed. Python's floats become "
     "float32, ints\n"
     "int64; an array keeps its dtype. A tensor keeps its place on the tape."},
    {"tensor", as_c_function(tensor), METH_FASTCALL | METH_KEYWORDS,
     "tensor(data, dtype=None, device=None, stop_gradient=True)\n--\n\n"
     "A new tensor, off the tape, that holds a copy of `data`: anything that asarray takes."},
    {"from_numpy", from_numpy, METH_O,
     "from_numpy(array, /)\n--\n\nA tensor on the memory of a numpy array. Memory that is read-only is copied, "
     "and bools that are neither 0 nor 1 are."},
    {"from_dlpack", as_c_function(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
     "A tensor on the memory of another library's array that has `__dlpack__`, or of a DLPack capsule.\n\n"
     "It is copied where it is read-only or runs backwards, where another device is asked for, and with `copy=True`; "
     "`copy=False` raises\n"
     "BufferError where a copy would be needed."},
    {"broadcast_shapes", as_c_function(broadcast_shapes_function), METH_FASTCALL,
     "broadcast_shapes(*shapes)\n--\n\n"
     "The shape, a tuple, that tensors of the given shapes broadcast to; ValueError where there is none."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void CreateOptions::read(PyObject* dtype_object, PyObject* device_object) {
  static const Signature signature("asarray", "data, dtype=None, device=None");
  if (dtype_object != Py_None) dtype = read_dtype(dtype_object, {signature, 1});
  if (device_object != Py_None) device = read_device(device_object, {signature, 2});
}

void CreateOptions::default_to_device(PyObject* data) {
  const Device standard = default_device();
  if (device || standard.is_cpu() || is_tensor(data)) return;
  if (!is_numpy_array(data) && has_attribute(data, "__dlpack_device__")) return;
  if (!is_numpy_array(data) && has_attribute(data, "__cuda_array_interface__")) return;
  device = standard;
}

Tensor create_tensor(PyObject* data, const CreateOptions& options) {
  if (is_tensor(data)) return finish(tensor_of(data), options, true);
  if (std::optional<Tensor> number = tensor_from_number(data, options))
    return autograd::came_from_host(finish(*number, options, false));
  if (PyList_Check(data) || PyTuple_Check(data))
    return autograd::came_from_host(finish(tensor_from_sequence(data, options), options, false));
  if (PyRange_Check(data)) {
    const PyRef list = PyRef::adopt(checked(PySequence_List(data)));
    return autograd::came_from_host(finish(tensor_from_sequence(list.get(), options), options, false));
  }
  bool shared = true;
  Tensor x;
  if (PyUnicode_Check(data)) {
    fail<TypeError>("[", options.op, "] expected a number, a nested list of numbers, an array or a tensor, got a str");
  } else if (PyObject_CheckBuffer(data)) {
    x = tensor_from_buffer(data, options.op, shared);
  } else if (has_attribute(data, "__dlpack__")) {
    x = tensor_from_dlpack(data, options.op, options.copy != Copy::Never);
  } else if (has_attribute(data, "__cuda_array_interface__")) {
    x = tensor_from_cuda_interface(data, options.op, options.copy != Copy::Never);
  } else if (has_attribute(data, "__array__") || has_attribute(data, "__array_interface__")) {
    x = from_array_method(data, options, shared);
  } else {
    fail<TypeError>("[", options.op, "] cannot make a tensor from ", type_name(data),
                    ": expected a number, a nested list of numbers, an array or a tensor");
  }
  return autograd::came_from_host(finish(std::move(x), options, shared));
}

PyMethodDef* creation_functions() { return creation_method_defs; }

}  // namespace lamella::python
