// Gradient modes: no_grad, enable_grad and set_grad_enabled, context managers and decorators.

#include "engine/autograd/modes.h"

#include "python/bindings/autograd.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

constexpr int kMaxDepth = 64;

/// One object may be entered again before it is left: what was in force before lies in bits, the latest lowest.
struct ModeObject {
  PyObject_HEAD std::uint64_t before;
  int depth;
  bool mode;
};

ModeObject* as_mode(PyObject* self) { return reinterpret_cast<ModeObject*>(self); }

void push(ModeObject* self) {
  if (self->depth == kMaxDepth)
    fail<RuntimeError>("[grad mode] one object was entered ", kMaxDepth, " times without being left");
  self->before = self->before << 1 | (autograd::is_grad_enabled() ? 1u : 0u);
  ++self->depth;
}

void pop(ModeObject* self) {
  if (self->depth == 0) return;
  autograd::set_grad_enabled((self->before & 1) != 0);
  self->before >>= 1;
  --self->depth;
}

PyRef decorate(PyObject* function, bool mode) {
  const PyRef module = PyRef::adopt(checked(PyImport_ImportModule("lamella._decorate")));
  return PyRef::adopt(
      checked(PyObject_CallMethod(module.get(), "decorate", "OO", function, mode ? Py_True : Py_False)));
}

ModeObject* make(PyTypeObject* type, bool mode) {
  auto* self = reinterpret_cast<ModeObject*>(checked(type->tp_alloc(type, 0)));
  self->mode = mode;
  return self;
}

/// no_grad() makes an object, no_grad(function) decorates.
template <bool kMode>
PyObject* create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (kwargs && PyDict_GET_SIZE(kwargs))
      fail<TypeError>("[", kMode ? "enable_grad" : "no_grad", "] takes no keyword arguments");
    if (PyTuple_GET_SIZE(args) == 1 && PyCallable_Check(PyTuple_GET_ITEM(args, 0))) {
      return decorate(PyTuple_GET_ITEM(args, 0), kMode).release();
    }
    if (PyTuple_GET_SIZE(args)) fail<TypeError>("[", kMode ? "enable_grad" : "no_grad", "] takes no arguments");
    return reinterpret_cast<PyObject*>(make(type, kMode));
  });
}

/// set_grad_enabled(mode) takes effect at once.
PyObject* create_set(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"mode", nullptr};
    PyObject* mode = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:set_grad_enabled", const_cast<char**>(names), &mode))
      return nullptr;
    if (mode != Py_True && mode != Py_False)
      fail<TypeError>("[set_grad_enabled] expected True or False, got ", type_name(mode));
    ModeObject* self = make(type, mode == Py_True);
    push(self);
    autograd::set_grad_enabled(self->mode);
    return reinterpret_cast<PyObject*>(self);
  });
}

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    push(as_mode(self));
    autograd::set_grad_enabled(as_mode(self)->mode);
    return Py_NewRef(self);
  });
}

PyObject* enter_set(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (as_mode(self)->depth == 0) push(as_mode(self));  // entered again after it was left
    autograd::set_grad_enabled(as_mode(self)->mode);
    return Py_NewRef(self);
  });
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  pop(as_mode(self));
  Py_RETURN_FALSE;
}

PyObject* call(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* function = nullptr;
    if (!PyArg_ParseTuple(args, "O:decorate", &function)) return nullptr;
    return decorate(function, as_mode(self)->mode).release();
  });
}

PyObject* call_set(PyObject* self, PyObject* args, PyObject* kwargs) {
  pop(as_mode(self));  // as a decorator it does not change the mode where it stands
  return call(self, args, kwargs);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(autograd::is_grad_enabled()); }

PyMethodDef is_enabled_definition{"is_grad_enabled", is_grad_enabled, METH_NOARGS,
                                  "is_grad_enabled()\n--\n\nWhether this thread records operations."};

template <auto Enter>
PyTypeObject* make_type(const char* name, const char* doc, newfunc make_object, ternaryfunc call_object) {
  static PyMethodDef methods[] = {
      {"__enter__", Enter, METH_NOARGS, nullptr},
      {"__exit__", as_c_function(leave), METH_FASTCALL, nullptr},
      {nullptr, nullptr, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(make_object)},
      {Py_tp_call, reinterpret_cast<void*>(call_object)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>(doc)},
      {0, nullptr},
  };
  PyType_Spec spec{
      .name = name, .basicsize = sizeof(ModeObject), .itemsize = 0, .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
  return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
}

}  // namespace

void add_grad_modes(PyObject* module) {
  checked(PyModule_AddType(module,
                           make_type<enter>("lamella.no_grad",
                                            "no_grad()\n--\n\n"
                                            "Records nothing in a `with` block, or in the function that it decorates.",
                                            create<false>, call)));
  checked(PyModule_AddType(
      module, make_type<enter>("lamella.enable_grad",
                               "enable_grad()\n--\n\n"
                               "Records operations in a `with` block, or in the function that it decorates.",
                               create<true>, call)));
  checked(PyModule_AddType(
      module,
      make_type<enter_set>("lamella.set_grad_enabled",
                           "set_grad_enabled(mode)\n--\n\n"
                           "Sets whether operations are recorded: from here on, for a `with` block, or for the\n"
                           "function that it decorates.",
                           create_set, call_set)));
  const PyRef function = PyRef::adopt(checked(PyCFunction_NewEx(&is_enabled_definition, nullptr, nullptr)));
  checked(PyModule_AddObjectRef(module, "is_grad_enabled", function.get()));
}

}  // namespace lamella::python
