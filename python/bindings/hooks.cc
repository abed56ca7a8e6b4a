#include "python/bindings/hooks.h"

#include <new>

#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/tensor_type.h"

namespace lamella::python {
namespace {

struct HandleObject {
  PyObject_HEAD autograd::HookHandle handle;
};

PyTypeObject* handle_type = nullptr;

void dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  reinterpret_cast<HandleObject*>(object)->handle.~HookHandle();
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* remove(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    reinterpret_cast<HandleObject*>(self)->handle.remove();
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"remove", remove, METH_NOARGS,
     "remove($self, /)\n--\n\nTakes the hook away. Doing so twice, or after the graph was freed, is fine."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Tensor PythonHook::operator()(const Tensor& grad) const {
  const GilHold gil;
  const PyRef argument = wrap_ref(grad);
  const PyRef result = PyRef::adopt(checked(PyObject_CallOneArg(function.get(), argument.get())));
  if (result.get() == Py_None) return {};
  if (!is_tensor(result.get())) {
    fail<TypeError>("[register_hook] a hook returns a Tensor or None, not ", type_name(result.get()));
  }
  return tensor_of(result.get());
}

PyObject* register_hook(PyObject* tensor, PyObject* function) {
  if (!PyCallable_Check(function)) {
    fail<TypeError>("[register_hook] expected a function of the gradient, got ", type_name(function));
  }
  autograd::HookHandle handle = autograd::register_hook(tensor_of(tensor), PythonHook{share_object(function)});
  track(tensor);
  auto* object = checked(PyObject_New(HandleObject, handle_type));
  new (&object->handle) autograd::HookHandle(std::move(handle));
  return reinterpret_cast<PyObject*>(object);
}

PyTypeObject* make_hook_handle_type() {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>("Takes a hook away again: what Tensor.register_hook returns.")},
      {0, nullptr},
  };
  static PyType_Spec spec{
      .name = "lamella.autograd.HookHandle",
      .basicsize = sizeof(HandleObject),
      .itemsize = 0,
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
      .slots = slots,
  };
  handle_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  return handle_type;
}

}  // namespace lamella::python
