#include "python/bindings/tensor_type.h"

#include <structmember.h>

#include <array>
#include <vector>

#include "engine/autograd/graph/place.h"
#include "engine/core/error.h"
#include "python/bindings/capture.h"
#include "python/bindings/containers.h"
#include "python/bindings/create.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"
#include "python/bindings/method.h"
#include "python/bindings/numpy.h"
#include "python/bindings/tensor_slots.h"
#include "python/bindings/visit.h"

namespace lamella::python {

PyTypeObject* tensor_type = nullptr;

namespace {

// Maximum length of the free list of lm.Tensor objects (subclasses excluded), which are linked by their field for weak
// references.
constexpr int kMaxFree = 256;
#ifndef Py_GIL_DISABLED
TensorObject* free_objects = nullptr;
int free_count = 0;
#endif

TensorObject* new_object() {
#ifndef Py_GIL_DISABLED
  if (TensorObject* self = free_objects) {
    free_objects = reinterpret_cast<TensorObject*>(self->weak_references);
    --free_count;
    PyObject_Init(reinterpret_cast<PyObject*>(self), tensor_type);
    return self;
  }
#endif
  return PyObject_GC_New(TensorObject, tensor_type);
}

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

void dealloc(PyObject* object) {
  auto* self = as_object(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  // forget() comes first: code that runs from here on must not find this object through the tensor.
  forget(self);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  self->tensor.~Tensor();
#ifndef Py_GIL_DISABLED
  if (type == tensor_type && free_count < kMaxFree) {
    self->weak_references = reinterpret_cast<PyObject*>(free_objects);
    free_objects = self;
    ++free_count;
    Py_DECREF(type);
    return;
  }
#endif
  type->tp_free(object);
  Py_DECREF(type);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  const auto* self = as_object(object);
  return self->tensor.defined() ? visit_tensor(self->tensor, visit, arg) : 0;
}

int clear(PyObject* object) {
  auto* self = as_object(object);
  forget(self);
  const Tensor dropped = std::exchange(self->tensor, Tensor());
  return 0;
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"data", "dtype", "device", "stop_gradient", nullptr};
    PyObject *data = nullptr, *dtype = Py_None, *device = Py_None;
    int stop_gradient = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOp:Tensor", const_cast<char**>(names), &data, &dtype, &device,
                                     &stop_gradient)) {
      return nullptr;
    }
    CreateOptions options{.op = "Tensor", .copy = Copy::IfNeeded};
    options.read(dtype, device);
    options.default_to_device(data);
    Tensor x = create_tensor(data, options);
    // A tensor keeps its object: a second object for it holds a detached tensor on its memory.
    if (is_tensor(data) && x.same(as_object(data)->tensor)) x = x.detach();
    if (!stop_gradient) x.set_stop_gradient(false);
    return type == tensor_type ? wrap(std::move(x)) : wrap_as(type, std::move(x));
  });
}

int init(PyObject*, PyObject*, PyObject*) {
  return 0;
}  // accepts any arguments, as a subclass may pass its own to super().__init__

Py_hash_t hash(PyObject* self) {
  const auto value = static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(self) >> 4);
  return value == -1 ? -2 : value;
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr const char* kDoc =
    "Tensor(data, dtype=None, device=None, stop_gradient=True)\n--\n\n"
    "An n-dimensional array on a device, with a place on the tape where it takes part in gradients.\n\n"
    "`data` is a number, a nested list, a numpy array, another tensor, or anything that lamella.asarray takes.";

}  // namespace

void fail_uninitialized() { fail<RuntimeError>("[Tensor] this tensor was never initialized"); }

PyObject* wrap(Tensor x) noexcept {
  if (!x.defined()) Py_RETURN_NONE;
  if (PyObject* object = existing_object(x)) [[unlikely]] {
    // The tensor may have been put on a tape since its object was made.
    if (autograd::get_meta(x)) track(object);
    return object;
  }
  TensorObject* self = new_object();
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

PyTypeObject* make_tensor_type() {
  // Methods and slots live as long as the type, which is never freed.
  static std::vector<PyMethodDef> methods = tensor_methods();
  add_capture_points(methods, true);
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_init, reinterpret_cast<void*>(init)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_members, members},
      {Py_tp_methods, methods.data()},
      {Py_tp_getset, tensor_attributes()},
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
      {Py_tp_doc, const_cast<char*>(kDoc)},
  };
  add_number_slots(slots);
  add_index_slots(slots);
  slots.push_back({0, nullptr});
  return tensor_type = new_type<TensorObject>("lamella.Tensor", slots.data(), Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC);
}

}  // namespace lamella::python
