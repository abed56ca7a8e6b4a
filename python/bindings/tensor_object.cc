#include "python/bindings/tensor_object.h"

#include <array>
#include <atomic>
#include <mutex>

#include "engine/autograd/graph/place.h"
#include "engine/core/error.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/free_list.h"
#include "python/bindings/gil.h"

namespace lamella::python {

PyTypeObject* tensor_type = nullptr;

namespace {

std::atomic<std::uint64_t> exchanges = 0;

/// Free list of lm.Tensor objects, subclasses excluded.
FreeList<TensorObject, 256> free_objects;

/// Returns the mutex that guards the pointer from a tensor to its object. The object's memory stays valid while the
/// mutex is held: an object that is destroyed clears the pointer under it first.
StateMutex& object_mutex(const Tensor& x) noexcept {
  static std::array<StateMutex, 64> mutexes;
  return mutexes[reinterpret_cast<std::uintptr_t>(x.impl()) / 64 % mutexes.size()];
}

/// Returns a new reference to the tensor's object. Null if it has none, or if that is being destroyed (its attributes,
/// at this moment): then the tensor gets a new object.
PyObject* existing_object(const Tensor& x) noexcept {
  const std::lock_guard lock(object_mutex(x));
  auto* object = static_cast<PyObject*>(x->host_object.load(std::memory_order_acquire));
  return object && try_retain(object) ? object : nullptr;
}

/// Makes `self` the object of its tensor. If the tensor has an object already, returns a reference to that one and
/// leaves `self` empty.
PyObject* adopt(TensorObject* self, Tensor x) noexcept {
  new (&self->tensor) Tensor();
  expect_try_retain(reinterpret_cast<PyObject*>(self));
  const std::lock_guard lock(object_mutex(x));
  auto* object = static_cast<PyObject*>(x->host_object.load(std::memory_order_acquire));
  if (object && try_retain(object)) [[unlikely]]
    return object;
  x->host_object.store(self, std::memory_order_release);
  self->tensor = std::move(x);
  return nullptr;
}

void forget(TensorObject* self) noexcept {
  if (!self->tensor.defined()) return;
  void* expected = self;
  const std::lock_guard lock(object_mutex(self->tensor));
  self->tensor->host_object.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
}

}  // namespace

void fail_uninitialized() { fail<RuntimeError>("[Tensor] this tensor was never initialized"); }

PyObject* wrap(Tensor x) noexcept {
  if (!x.defined()) Py_RETURN_NONE;
  if (PyObject* object = existing_object(x)) [[unlikely]] {
    // The tensor may have been put on a tape since its object was made.
    if (autograd::get_meta(x)) track(object);
    return object;
  }
  TensorObject* self = free_objects.take(tensor_type);
  if (!self) [[unlikely]]
    return nullptr;
  self->weak_references = nullptr;
  const bool on_tape = autograd::get_meta(x) != nullptr;
  if (PyObject* object = adopt(self, std::move(x))) [[unlikely]] {
    // Another thread, or a collection that the allocation set off, made the object meanwhile.
    Py_DECREF(self);
    return object;
  }
  if (on_tape) PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

PyRef wrap_ref(Tensor x) { return PyRef::adopt(checked(wrap(std::move(x)))); }

PyRef wrap_all(std::span<const Tensor> tensors) {
  return tuple_from(tensors, [](const Tensor& x) { return wrap(x); });
}

PyObject* wrap_as(PyTypeObject* type, Tensor x) {
  PyObject* self = checked(type->tp_alloc(type, 0));
  while (PyObject* other = adopt(as_object(self), x)) {
    Py_DECREF(other);
    x = x.detach();
  }
  return self;
}

std::uint64_t count_exchanges() noexcept { return exchanges.load(std::memory_order_relaxed); }

void exchange_tensors(PyObject* a, PyObject* b) noexcept {
  exchanges.fetch_add(1, std::memory_order_relaxed);
  TensorObject* const objects[] = {as_object(a), as_object(b)};
  for (TensorObject* each : objects) forget(each);
  std::swap(objects[0]->tensor, objects[1]->tensor);
  for (TensorObject* each : objects) {
    {
      const std::lock_guard lock(object_mutex(each->tensor));
      each->tensor->host_object.store(each, std::memory_order_release);
    }
    if (autograd::get_meta(each->tensor)) track(reinterpret_cast<PyObject*>(each));
  }
}

void deallocate_tensor(PyObject* object) {
  auto* self = as_object(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  // forget() comes first: code that runs from here on must not find this object through the tensor.
  forget(self);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  self->tensor.~Tensor();
  free_objects.give(self, type, type == tensor_type);
}

int clear_tensor(PyObject* object) {
  auto* self = as_object(object);
  forget(self);
  const Tensor dropped = std::exchange(self->tensor, Tensor());
  return 0;
}

}  // namespace lamella::python
