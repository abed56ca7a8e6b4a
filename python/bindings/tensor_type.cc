#include "python/bindings/tensor_type.h"

#include <structmember.h>

#include <vector>

#include "python/bindings/capture.h"
#include "python/bindings/create.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/numpy.h"
#include "python/bindings/tensor_object.h"
#include "python/bindings/tensor_slots.h"
#include "python/bindings/visit.h"

namespace lamella::python {
namespace {

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  const auto* self = as_object(object);
  return self->tensor.defined() ? visit_tensor(self->tensor, visit, arg) : 0;
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

PyTypeObject* make_tensor_type() {
  // Methods and slots live as long as the type, which is never freed.
  static std::vector<PyMethodDef> methods = tensor_methods();
  add_capture_points(methods, true);
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_init, reinterpret_cast<void*>(init)},
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate_tensor)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear_tensor)},
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
