#include "python/bindings/layer_outputs.h"

#include "engine/autograd/graph/place.h"
#include "python/bindings/errors.h"
#include "python/bindings/form.h"
#include "python/bindings/gil.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

PyRef shallow_copy(PyObject* value) {
  const PyRef module = PyRef::adopt(checked(PyImport_ImportModule("copy")));
  return PyRef::adopt(checked(PyObject_CallMethod(module.get(), "copy", "O", value)));
}

PyRef copy_of_tuple(PyObject* value) {
  const Py_ssize_t size = PyTuple_GET_SIZE(value);
  PyRef items = PyRef::adopt(checked(PyTuple_New(size)));
  for (Py_ssize_t i = 0; i < size; ++i) PyTuple_SET_ITEM(items.get(), i, Py_NewRef(PyTuple_GET_ITEM(value, i)));
  return items;
}

/// Returns a tuple of the type of `value` that holds `items`.
PyRef tuple_like(PyObject* value, PyRef items) {
  if (PyTuple_CheckExact(value)) return items;
  const PyRef args = PyRef::adopt(checked(PyTuple_Pack(1, items.get())));
  return PyRef::adopt(checked(PyTuple_Type.tp_new(Py_TYPE(value), args.get(), nullptr)));
}

}  // namespace

LayerOutputs::LayerOutputs(PyRef result) : result_(std::move(result)) {
  find(result_.get(), is_sole_reference(result_.get()));
}

void LayerOutputs::find(PyObject* value, bool exclusive) {
  if (is_tensor(value)) {
    const Tensor& x = tensor_of(value);
    slots_.push_back({value, exclusive, exclusive ? Tensor() : x});
    return;
  }
  if (!is_container(value)) return;
  const RecursionGuard guard;
  for_each_part(value, [&](PyObject* part, PyObject*, PyRef owner) {
    if (owner && is_sole_reference(part)) {  // a property computed it, nobody else holds it
      find(part, false);
      return;
    }
    owner = PyRef();  // the remaining references are the instance's and the user's
    find(part, exclusive && is_sole_reference(part));
  });
}

std::span<Tensor* const> LayerOutputs::tensors() {
  for (Slot& slot : slots_) {
    Tensor& x = slot.in_object ? as_object(slot.object)->tensor : slot.handle;
    // The engine may replace the tensor: settle() decides later to whom this object belongs.
    if (slot.in_object) x->host_object.store(nullptr, std::memory_order_release);
    pointers_.push_back(&x);
  }
  return pointers_;
}

LayerOutputs::Slot& LayerOutputs::next_slot() {
  if (next_ == slots_.size()) {
    fail<RuntimeError>(
        "[PyLayer] forward's result had more tensors when it was read a second time: do not change it meanwhile, "
        "and do not build it from properties that compute their value");
  }
  return slots_[next_++];
}

PyRef LayerOutputs::settle(Slot& slot) {
  if (!slot.in_object) return wrap_ref(std::move(slot.handle));
  const Tensor& x = as_object(slot.object)->tensor;
  x->host_object.store(slot.object, std::memory_order_release);
  if (autograd::get_meta(x)) track(slot.object);
  return PyRef::share(slot.object);
}

PyRef LayerOutputs::finish() {
  next_ = 0;
  const bool exclusive = is_sole_reference(result_.get());
  if (is_tensor(result_.get())) return settle(next_slot());
  return rebuild(std::move(result_), exclusive);
}

PyRef LayerOutputs::rebuild(PyRef value, bool exclusive) {
  if (is_tensor(value.get())) return settle(next_slot());
  return is_container(value.get()) ? rebuild_parts(std::move(value), exclusive) : value;
}

PyRef LayerOutputs::rebuild_parts(PyRef value, bool exclusive) {
  PyObject* const old = value.get();
  const auto part = [&](PyObject* item) {
    const bool ours = exclusive && is_sole_reference(item);
    return rebuild(PyRef::share(item), ours);
  };
  if (PyTuple_Check(old)) {
    PyRef items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(old); ++i) {
      PyRef item = part(PyTuple_GET_ITEM(old, i));
      if (!items && item.get() == PyTuple_GET_ITEM(old, i)) continue;
      if (!items) items = copy_of_tuple(old);
      checked(PyTuple_SetItem(items.get(), i, item.release()));
    }
    return items ? tuple_like(old, std::move(items)) : value;
  }
  if (PyList_Check(old)) {
    PyRef target = value;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(old); ++i) {
      PyRef item = part(PyList_GET_ITEM(old, i));
      if (item.get() == PyList_GET_ITEM(target.get(), i)) continue;
      if (!exclusive && target.get() == old) target = shallow_copy(old);
      checked(PyList_SetItem(target.get(), i, item.release()));
    }
    return target;
  }
  if (PyDict_Check(old)) {
    PyRef target = value;
    // The keys are listed first, as items are replaced during the loop.
    const PyRef keys = PyRef::adopt(checked(PyDict_Keys(old)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
      PyObject* key = PyList_GET_ITEM(keys.get(), i);
      PyObject* before = checked(PyDict_GetItemWithError(old, key));
      const PyRef item = part(before);
      if (item.get() == before) continue;
      if (!exclusive && target.get() == old) target = shallow_copy(old);
      checked(PyDict_SetItem(target.get(), key, item.get()));
    }
    return target;
  }
  PyRef target = value;
  const PyRef fields = dataclass_fields(old);
  PyObject *key = nullptr, *field = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(fields.get(), &at, &key, &field);) {
    PyRef before = PyRef::adopt(PyObject_GenericGetAttr(old, key));
    if (!before) {
      PyErr_Clear();
      continue;
    }
    PyObject* const item_before = before.get();
    // If the instance holds the item, our reference is dropped, so that the remaining ones are the instance's and the
    // user's.
    if (!is_sole_reference(item_before)) before = PyRef();
    const PyRef item = part(item_before);
    if (item.get() == item_before) continue;
    if (!exclusive && target.get() == old) target = shallow_copy(old);
    checked(PyObject_GenericSetAttr(target.get(), key, item.get()));
  }
  return target;
}

}  // namespace lamella::python
