// Methods of lm.Tensor that are not operators.

#include <algorithm>
#include <cstring>

#include "engine/autograd/graph/place.h"
#include "engine/runtime/pinned.h"
#include "ops/movement/cast.h"
#include "ops/support/strided.h"
#include "python/bindings/autograd.h"
#include "python/bindings/convert.h"
#include "python/bindings/dlpack.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/hooks.h"
#include "python/bindings/method.h"
#include "python/bindings/numpy.h"
#include "python/bindings/operators.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"
#include "python/bindings/tensor_slots.h"

namespace lamella::python {
namespace {

/// Method without arguments that calls `Function` with the tensor.
template <auto Function>
PyObject* plain(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* { return Function(tensor_of(self)); });
}

PyObject* numpy_method(PyObject* self, PyObject*) {
  return guarded([&] { return tensor_to_numpy(self); });
}

PyObject* register_hook_method(PyObject* self, PyObject* function) {
  return guarded([&] { return register_hook(self, function); });
}

PyObject* register_post_accumulate_grad_hook_method(PyObject* self, PyObject* function) {
  return guarded([&] { return register_post_accumulate_grad_hook(self, function); });
}

PyObject* retain_grad(const Tensor& x) {
  autograd::retain_grad(x);
  Py_RETURN_NONE;
}

PyObject* detach_in_place(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    autograd::detach_in_place(tensor_of(self));
    return Py_NewRef(self);
  });
}

PyObject* requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("requires_grad_", "self, requires_grad=True");
    const auto values = signature.bound<2>(args, count, keywords, self);
    tensor_of(self).set_requires_grad(read<bool>(values[1], {signature, 1}));
    return Py_NewRef(self);
  });
}

PyObject* as_complex(const Tensor& x) {
  const PyRef item = PyRef::adopt(tensor_item(x, "complex"));
  const Py_complex z = PyComplex_AsCComplex(item.get());
  if (z.real == -1.0 && PyErr_Occurred()) return nullptr;
  return PyComplex_FromCComplex(z);
}

PyObject* clear_grad(const Tensor& x) {
  x.set_grad({});
  Py_RETURN_NONE;
}

PyObject* to(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("to", "self, target=None, *, dtype=None, device=None, non_blocking=False");
    const auto values = signature.bound<5>(args, count, keywords, self);
    Tensor x = tensor_of(self);
    std::optional<DType> dtype = read_optional<DType>(values[2], {signature, 2});
    std::optional<Device> device = read_optional<Device>(values[3], {signature, 3});
    if (DType named{}; values[1] != Py_None && as_dtype(values[1], named)) {
      dtype = named;
    } else if (values[1] != Py_None) {
      if (!PyUnicode_Check(values[1])) Argument{signature, 1}.wrong_type("a device or a dtype", values[1]);
      device = read_device(values[1], {signature, 1});
    }
    if (device && *device != x.device()) {
      const NonBlockingCopies copies(values[4] != Py_False && read<bool>(values[4], {signature, 4}));
      x = to_device(x, *device);
    }
    if (dtype) x = cast(x, *dtype);
    return wrap(std::move(x));
  });
}

PyObject* cuda(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("cuda", "self, index=0, *, non_blocking=False");
    const auto values = signature.bound<3>(args, count, keywords, self);
    const std::int64_t index = read_int(values[1], {signature, 1});
    if (index < 0 || index > 127)
      Argument{signature, 1}.wrong_value(str("expected the index of a CUDA device in [0, 128), got ", index));
    const NonBlockingCopies copies(values[2] != Py_False && read<bool>(values[2], {signature, 2}));
    return wrap(to_device(tensor_of(self), Device(DeviceType::CUDA, static_cast<int>(index))));
  });
}

PyObject* pin_memory(const Tensor& x) {
  if (!x.device().is_cpu())
    fail<RuntimeError>("[pin_memory] only memory of the CPU is pinned, not that of ", x.device());
  if (is_pinned(x)) return wrap(x);
  Tensor pinned = empty_pinned(x.shape(), x.dtype());
  write_values(pinned, x.detach(), "pin_memory");
  return wrap(std::move(pinned));
}

PyMethodDef own_methods[] = {
    {"numpy", numpy_method, METH_NOARGS,
     "numpy($self, /)\n--\n\n"
     "A numpy array on the tensor's memory (a copy of it where the tensor is on another device). RuntimeError for a "
     "tensor that wants\n"
     "a gradient while gradients are recorded: call detach() first."},
    {"item", plain<[](const Tensor& x) { return tensor_item(x, "item"); }>, METH_NOARGS,
     "item($self, /)\n--\n\nThe only element as a Python number; ValueError where there is not exactly one."},
    {"tolist", plain<tensor_to_list>, METH_NOARGS,
     "tolist($self, /)\n--\n\nThe elements as Python numbers in nested lists."},
    {"detach", plain<[](const Tensor& x) { return wrap(x.detach()); }>, METH_NOARGS,
     "detach($self, /)\n--\n\nReturns a tensor on the same memory, off the tape."},
    {"detach_", detach_in_place, METH_NOARGS,
     "detach_($self, /)\n--\n\n"
     "Takes the tensor itself off the tape, so that it becomes a leaf that wants no gradient and has no tangents, and "
     "returns it.\n"
     "RuntimeError for a view that follows the tensor whose memory it shows."},
    {"requires_grad_", as_c_function(requires_grad_), METH_FASTCALL | METH_KEYWORDS,
     "requires_grad_($self, requires_grad=True)\n--\n\nSets requires_grad, and returns the tensor itself."},
    {"is_inference", plain<[](const Tensor& x) { return PyBool_FromLong((x->flags & TensorImpl::kInference) != 0); }>,
     METH_NOARGS, "is_inference($self, /)\n--\n\nTrue if the tensor was made in inference_mode."},
    {"to", as_c_function(to), METH_FASTCALL | METH_KEYWORDS,
     "to($self, target=None, *, dtype=None, device=None, non_blocking=False)\n--\n\n"
     "The tensor on another device, in another dtype, or both; itself where it is that already. With\n"
     "non_blocking=True a copy between a CUDA device and pinned memory is only queued in the current stream: what "
     "comes\n"
     "to the CPU, in pinned memory, is there once that stream is synchronized."},
    {"cpu", plain<[](const Tensor& x) { return wrap(to_device(x, kCPU)); }>, METH_NOARGS,
     "cpu($self, /)\n--\n\nThe tensor on the CPU."},
    {"cuda", as_c_function(cuda), METH_FASTCALL | METH_KEYWORDS,
     "cuda($self, index=0, *, non_blocking=False)\n--\n\nThe tensor on a CUDA device; as to() does."},
    {"pin_memory", plain<pin_memory>, METH_NOARGS,
     "pin_memory($self, /)\n--\n\n"
     "The elements in page-locked memory of the CPU, off the tape, from which a CUDA device copies while the host "
     "goes\n"
     "on; the tensor itself where it is there. RuntimeError without a CUDA device."},
    {"is_pinned", plain<[](const Tensor& x) { return PyBool_FromLong(is_pinned(x)); }>, METH_NOARGS,
     "is_pinned($self, /)\n--\n\nTrue if the tensor lies in page-locked memory, as after pin_memory()."},
    {"is_contiguous", plain<[](const Tensor& x) { return PyBool_FromLong(x.is_contiguous()); }>, METH_NOARGS,
     "is_contiguous($self, /)\n--\n\nTrue if the elements lie in memory in row-major order."},
    {"data_ptr", plain<[](const Tensor& x) { return PyLong_FromVoidPtr(x.raw_data()); }>, METH_NOARGS,
     "data_ptr($self, /)\n--\n\nThe address of the first element."},
    {"clear_grad", plain<clear_grad>, METH_NOARGS, "clear_grad($self, /)\n--\n\nDrops the gradient."},
    {"register_hook", register_hook_method, METH_O,
     "register_hook($self, hook, /)\n--\n\n"
     "Has hook(grad) called when the tensor's gradient is computed, before it is added up or passed on; a tensor that "
     "it returns takes\n"
     "the gradient's place; it must not change the gradient itself. Returns a handle with remove()."},
    {"register_post_accumulate_grad_hook", register_post_accumulate_grad_hook_method, METH_O,
     "register_post_accumulate_grad_hook($self, hook, /)\n--\n\n"
     "Has hook(tensor) called each time after a gradient was added to the grad of this leaf: the place for an "
     "optimizer's step during the\n"
     "pass. It returns None. RuntimeError for a tensor that is no leaf, or wants no gradient. Returns a handle with "
     "remove()."},
    {"retain_grad", plain<retain_grad>, METH_NOARGS,
     "retain_grad($self, /)\n--\n\n"
     "Has passes keep the gradient of this result of a recorded operation in its grad, as they do for leaves, after "
     "its "
     "hooks have seen it.\n"
     "RuntimeError for a tensor that wants no gradient; nothing changes for a leaf."},
    {"backward", as_c_function(tensor_backward), METH_FASTCALL | METH_KEYWORDS,
     "backward($self, grad=None, retain_graph=None, create_graph=False, inputs=None)\n--\n\n"
     "Computes the gradients of all leaves that the tensor depends on and adds them to their grad.\n\n"
     "`grad` is the gradient to begin with, ones by default, which only a tensor with one element may leave out. "
     "retain_graph keeps\n"
     "what was saved for another pass, by default where create_graph is set, which records the pass itself for higher "
     "derivatives. `inputs`,\n"
     "a tensor or a list, names the only tensors whose gradients are computed; those that are no leaves get one in "
     "their grad as well."},
    {"__complex__", plain<as_complex>, METH_NOARGS, "__complex__($self, /)\n--\n\n"},
    {"__array__", as_c_function(tensor_array), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\n"},
    {"__dlpack__", as_c_function(tensor_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "__dlpack_device__($self, /)\n--\n\n"},
};

}  // namespace

std::vector<PyMethodDef> tensor_methods() {
  std::vector<PyMethodDef> methods(std::begin(own_methods), std::end(own_methods));
  for (const PyMethodDef& method : operator_methods()) {
    const bool taken = std::ranges::any_of(
        own_methods, [&](const PyMethodDef& own) { return !std::strcmp(own.ml_name, method.ml_name); });
    if (!taken) methods.push_back(method);
  }
  methods.push_back({nullptr, nullptr, 0, nullptr});
  return methods;
}

}  // namespace lamella::python
