#include "python/bindings/copies.h"

#include "engine/autograd/graph/handover.h"
#include "engine/core/modes.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/numpy.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

// Copies and pickles preserve shared memory: a tensor whose storage other tensors share is stored as an offset into
// that storage, which is copied once.

namespace lamella::python {
namespace {

/// Returns the range of bytes [low, high) that the elements occupy, relative to the first element.
std::pair<std::int64_t, std::int64_t> reach_of(DimsView shape, DimsView strides, std::int64_t item) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return {0, 0};
    std::int64_t span = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &span) || __builtin_mul_overflow(span, item, &span) ||
        __builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high)) {
      fail<ValueError>("[copy] the strides reach beyond any memory");
    }
  }
  return {low, high + item};
}

/// Returns a tensor on x's storage, `offset` bytes from its start.
Tensor place_in(const Tensor& x, DimsView shape, DimsView strides, DType dtype, std::int64_t offset) {
  Tensor y = make_view(x, shape, strides);
  y->dtype = dtype;
  y->data = static_cast<char*>(x->storage->data) + offset;
  return y;
}

PyObject* shared_memory(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_shared_memory", "x, /");
    const Tensor& x = read<const Tensor&>(object, {signature, 0});
    const Storage& storage = *x->storage;
    if (x->hidden || x.device().is_meta() || !storage.data || storage.unique()) Py_RETURN_NONE;
    const auto offset = x->data - static_cast<char*>(storage.data);
    const auto [low, high] = reach_of(x.shape(), x.strides(), static_cast<std::int64_t>(item_size(x.dtype())));
    // Foreign memory may extend past the bytes that its storage records.
    if (offset + low < 0 || offset + high > static_cast<std::int64_t>(storage.bytes)) Py_RETURN_NONE;
    return Py_BuildValue("(Kn)", reinterpret_cast<unsigned long long>(&storage), static_cast<Py_ssize_t>(offset));
  });
}

PyObject* memory_as_bytes(PyObject*, PyObject* object) {
  return guarded([&] {
    static const Signature signature("_memory_as_bytes", "x, /");
    const Tensor& x = read<const Tensor&>(object, {signature, 0});
    const auto bytes = static_cast<std::int64_t>(x->storage->bytes);
    return wrap(place_in(x, Dims{bytes}, Dims{1}, DType::UInt8, 0));
  });
}

PyObject* tensor_in_memory(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_tensor_in_memory", "memory, dtype, shape, strides, offset, /");
    const auto values = signature.bound<5>(args, count, keywords);
    const Tensor& memory = read<const Tensor&>(values[0], {signature, 0});
    const auto dtype = read<DType>(values[1], {signature, 1});
    const auto shape = read<Dims>(values[2], {signature, 2});
    const auto strides = read<Dims>(values[3], {signature, 3});
    const std::int64_t offset = read_int(values[4], {signature, 4});
    const auto item = static_cast<std::int64_t>(item_size(dtype));
    if (memory.dtype() != DType::UInt8 || memory.ndim() != 1 || !memory.is_contiguous() || memory->hidden)
      fail<ValueError>("[copy] the memory must be a contiguous tensor of bytes, got ", describe(memory));
    if (shape.size() != strides.size() || count_elements(shape) < 0)
      fail<ValueError>("[copy] got ", strides.size(), " strides for ", shape.size(), " axes");
    const auto [low, high] = reach_of(shape, strides, item);
    if (offset < 0 || offset > memory.numel() || offset + low < 0 || high > memory.numel() - offset ||
        offset % item != 0)
      fail<ValueError>("[copy] a tensor at byte ", offset, " reaches beyond the ", memory.numel(),
                       " bytes of its memory");
    return wrap(place_in(memory, shape, strides, dtype, offset));
  });
}

PyObject* exchange_tensors_function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_exchange_tensors", "a, b, /");
    const auto values = signature.bound<2>(args, count, keywords);
    const Tensor& a = read<const Tensor&>(values[0], {signature, 0});
    const Tensor& b = read<const Tensor&>(values[1], {signature, 1});
    if (a.is_leaf()) autograd::hand_over(a, b);
    exchange_tensors(values[0], values[1]);
    Py_RETURN_NONE;
  });
}

PyObject* numpy_to_print(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_numpy_to_print", "x, /");
    static_cast<void>(read<const Tensor&>(object, {signature, 0}));
    const bool escaped = autograd::modes().escaped;
    PyObject* const array = tensor_to_numpy(object);
    autograd::modes().escaped = escaped;
    return array;
  });
}

PyMethodDef copy_method_defs[] = {
    {"_shared_memory", shared_memory, METH_O,
     "_shared_memory(x, /)\n--\n\nA number for the memory that x has in common with another tensor, and where x begins "
     "there, in bytes; None for memory of x's own."},
    {"_memory_as_bytes", memory_as_bytes, METH_O,
     "_memory_as_bytes(x, /)\n--\n\nAll of the memory that x lies in, as a tensor of bytes."},
    {"_tensor_in_memory", as_c_function(tensor_in_memory), METH_FASTCALL | METH_KEYWORDS,
     "_tensor_in_memory(memory, dtype, shape, strides, offset, /)\n--\n\nA tensor in a tensor of bytes."},
    {"_exchange_tensors", as_c_function(exchange_tensors_function), METH_FASTCALL | METH_KEYWORDS,
     "_exchange_tensors(a, b, /)\n--\n\nMakes the object a stand for the tensor of the object b, and b for that of a. "
     "Where a is a leaf, so is b from now on,\nwith the gradient and the hooks of a."},
    {"_numpy_to_print", numpy_to_print, METH_O,
     "_numpy_to_print(x, /)\n--\n\nx.numpy() for values that are only looked at: nothing is computed from them."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* copy_functions() { return copy_method_defs; }

}  // namespace lamella::python
