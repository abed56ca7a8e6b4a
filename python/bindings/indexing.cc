// Implements `x[...]` and `x[...] = value`, length and iteration.

#include "ops/index/index.h"
#include "python/bindings/convert.h"
#include "python/bindings/create.h"
#include "python/bindings/errors.h"
#include "python/bindings/numpy.h"
#include "python/bindings/tensor_object.h"
#include "python/bindings/tensor_slots.h"

namespace lamella::python {
namespace {

std::int64_t to_index(PyObject* object) {
  const PyRef number = PyRef::adopt(checked(PyNumber_Index(object)));
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow) fail<IndexError>("[index] an index does not fit into 64 bits");
  return value;
}

std::optional<std::int64_t> slice_bound(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  if (!PyIndex_Check(object))
    fail<TypeError>("[index] expected ints or None as bounds of a slice, got ", type_name(object));
  // A bound beyond 64 bits means the end, as in Python.
  const PyRef number = PyRef::adopt(checked(PyNumber_Index(object)));
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow) return overflow > 0 ? INT64_MAX : INT64_MIN;
  return value;
}

Slice to_slice(PyObject* object) {
  const auto* slice = reinterpret_cast<PySliceObject*>(object);
  Slice result{slice_bound(slice->start), slice_bound(slice->stop), 1};
  if (const std::optional<std::int64_t> step = slice_bound(slice->step)) result.step = *step;
  return result;
}

IndexItem to_item(PyObject* object) {
  if (PyLong_Check(object) && !PyBool_Check(object)) return to_index(object);
  if (PySlice_Check(object)) return to_slice(object);
  if (object == Py_Ellipsis) return Ellipsis{};
  if (object == Py_None) return NewAxis{};
  if (is_tensor(object)) return tensor_of(object);
  if (is_numpy_bool(object)) return to_item(checked(PyObject_IsTrue(object)) ? Py_True : Py_False);
  if (PyBool_Check(object) || PyList_Check(object) || PyTuple_Check(object) || is_numpy_array(object)) {
    Tensor x = create_tensor(object, {.op = "index"});
    // An empty list selects nothing; without items it has the default dtype of floats, which is no index.
    if (x.numel() == 0 && is_floating(x.dtype())) x = empty(x.shape(), DType::Int64);
    return x;
  }
  if (PyRange_Check(object)) return to_item(PyRef::adopt(checked(PySequence_List(object))).get());
  if (PyIndex_Check(object)) return to_index(object);
  fail<TypeError>(
      "[index] a tensor is indexed by ints, slices, ..., None and tensors or lists of ints or bools, not by ",
      type_name(object));
}

IndexItems to_items(PyObject* key) {
  IndexItems items;
  if (PyTuple_Check(key)) {
    items.reserve(static_cast<std::size_t>(PyTuple_GET_SIZE(key)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) items.push_back(to_item(PyTuple_GET_ITEM(key, i)));
  } else {
    items.push_back(to_item(key));
  }
  return items;
}

PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&] { return wrap(index(tensor_of(self), to_items(key))); }, "index");
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(
      [&]() -> int {
        if (!value) fail<TypeError>("[index] elements of a tensor cannot be deleted");
        const Tensor& x = tensor_of(self);
        const IndexItems items = to_items(key);
        Scalar number = 0;
        if (is_tensor(value)) {
          set_index(x, items, tensor_of(value));
          track(self);
        } else if (as_scalar(value, number)) {
          set_index(x, items, number);
        } else {
          set_index(x, items, create_tensor(value, {.op = "index"}));
        }
        return 0;
      },
      "index");
}

Py_ssize_t length(PyObject* self) {
  return guarded([&]() -> Py_ssize_t {
    const Tensor& x = tensor_of(self);
    if (x.ndim() == 0) fail<TypeError>("[len] a 0-d tensor has no length");
    return x.shape()[0];
  });
}

PyObject* item_at(PyObject* self, Py_ssize_t i) {
  return guarded([&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    if (x.ndim() == 0) fail<TypeError>("[index] a 0-d tensor has no items");
    // This IndexError ends an iteration: set directly, it costs no formatted message.
    if (i < 0 || i >= x.shape()[0]) {
      PyErr_SetString(PyExc_IndexError, "[index] index out of range");
      return nullptr;
    }
    return wrap(index(x, {std::int64_t{i}}));
  });
}

PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (tensor_of(self).ndim() == 0) fail<TypeError>("[iter] a 0-d tensor cannot be iterated over");
    return PySeqIter_New(self);
  });
}

}  // namespace

void add_index_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_mp_subscript, reinterpret_cast<void*>(subscript)});
  slots.push_back({Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript)});
  slots.push_back({Py_mp_length, reinterpret_cast<void*>(length)});
  slots.push_back({Py_sq_length, reinterpret_cast<void*>(length)});
  slots.push_back({Py_sq_item, reinterpret_cast<void*>(item_at)});
  slots.push_back({Py_tp_iter, reinterpret_cast<void*>(iterate)});
}

}  // namespace lamella::python
