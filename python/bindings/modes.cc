// Gradient modes: no_grad, enable_grad, set_grad_enabled and inference_mode, context managers and decorators.

#include "engine/core/modes.h"

#include <utility>

#include "python/bindings/autograd.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

constexpr int kMaxDepth = 64;

/// Context manager of a gradient mode. It may be entered again before it is left: the modes in force before are kept in
/// bits, the latest lowest.
struct ModeObject {
  PyObject_HEAD std::uint64_t grad_before;
  std::uint64_t inference_before;
  int depth;
  bool mode;
};

PyTypeObject* no_grad_type = nullptr;
PyTypeObject* enable_grad_type = nullptr;

ModeObject* as_mode(PyObject* self) { return reinterpret_cast<ModeObject*>(self); }

void push(ModeObject* self) {
  if (self->depth == kMaxDepth)
    fail<RuntimeError>("[grad mode] one object was entered ", kMaxDepth, " times without being left");
  self->grad_before = self->grad_before << 1 | (autograd::modes().grad_enabled ? 1u : 0u);
  self->inference_before = self->inference_before << 1 | (autograd::modes().inference ? 1u : 0u);
  ++self->depth;
}

/// Restores grad mode, and with `inference` inference mode, to what push() found.
void pop(ModeObject* self, bool inference = false) {
  if (self->depth == 0) return;
  if (inference) autograd::modes().inference = (self->inference_before & 1) != 0;
  autograd::set_grad_enabled((self->grad_before & 1) != 0);
  self->grad_before >>= 1;
  self->inference_before >>= 1;
  --self->depth;
}

/// Wraps a function so that it runs in scope(), or in scope(mode) where a mode is given.
PyRef decorate(PyObject* function, PyTypeObject* scope, PyObject* mode = Py_None) {
  const PyRef module = PyRef::adopt(checked(PyImport_ImportModule("lamella._decorate")));
  return PyRef::adopt(checked(PyObject_CallMethod(module.get(), "decorate", "OOO", function, scope, mode)));
}

PyTypeObject* grad_type(bool mode) { return mode ? enable_grad_type : no_grad_type; }

ModeObject* make(PyTypeObject* type, bool mode) {
  auto* self = reinterpret_cast<ModeObject*>(checked(type->tp_alloc(type, 0)));
  self->mode = mode;
  return self;
}

bool read_mode(PyObject* mode, const char* op) {
  if (mode != Py_True && mode != Py_False) fail<TypeError>("[", op, "] expected True or False, got ", type_name(mode));
  return mode == Py_True;
}

/// Implements no_grad() and enable_grad(): without an argument it makes a context manager, with a function it decorates
/// that.
template <bool kMode>
PyObject* create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (kwargs && PyDict_GET_SIZE(kwargs))
      fail<TypeError>("[", kMode ? "enable_grad" : "no_grad", "] takes no keyword arguments");
    if (PyTuple_GET_SIZE(args) == 1 && PyCallable_Check(PyTuple_GET_ITEM(args, 0))) {
      return decorate(PyTuple_GET_ITEM(args, 0), type).release();
    }
    if (PyTuple_GET_SIZE(args)) fail<TypeError>("[", kMode ? "enable_grad" : "no_grad", "] takes no arguments");
    return reinterpret_cast<PyObject*>(make(type, kMode));
  });
}

/// Implements set_grad_enabled(mode), which takes effect at once.
PyObject* create_set(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"mode", nullptr};
    PyObject* mode = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:set_grad_enabled", const_cast<char**>(names), &mode))
      return nullptr;
    ModeObject* self = make(type, read_mode(mode, "set_grad_enabled"));
    push(self);
    autograd::set_grad_enabled(self->mode);
    return reinterpret_cast<PyObject*>(self);
  });
}

/// Implements inference_mode() and inference_mode(mode), which make a context manager, and inference_mode(function),
/// which decorates.
PyObject* create_inference(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"mode", nullptr};
    PyObject* mode = Py_True;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:inference_mode", const_cast<char**>(names), &mode))
      return nullptr;
    if (PyCallable_Check(mode)) return decorate(mode, type).release();
    return reinterpret_cast<PyObject*>(make(type, read_mode(mode, "inference_mode")));
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

PyObject* enter_inference(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    push(as_mode(self));
    autograd::Modes& modes = autograd::modes();
    const bool before = std::exchange(modes.inference, as_mode(self)->mode);
    if (before != modes.inference) modes.grad_enabled = before;  // as autograd::InferenceMode does
    return Py_NewRef(self);
  });
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  pop(as_mode(self));
  Py_RETURN_FALSE;
}

PyObject* leave_inference(PyObject* self, PyObject* const*, Py_ssize_t) {
  pop(as_mode(self), true);
  Py_RETURN_FALSE;
}

PyObject* call(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* function = nullptr;
    if (!PyArg_ParseTuple(args, "O:decorate", &function)) return nullptr;
    return decorate(function, grad_type(as_mode(self)->mode)).release();
  });
}

PyObject* call_set(PyObject* self, PyObject* args, PyObject* kwargs) {
  pop(as_mode(self));  // a decorator does not change the mode where it is applied
  return call(self, args, kwargs);
}

PyObject* call_inference(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* function = nullptr;
    if (!PyArg_ParseTuple(args, "O:decorate", &function)) return nullptr;
    return decorate(function, Py_TYPE(self), as_mode(self)->mode ? Py_True : Py_False).release();
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(autograd::is_grad_enabled()); }

PyMethodDef is_enabled_definition{"is_grad_enabled", is_grad_enabled, METH_NOARGS,
                                  "is_grad_enabled()\n--\n\nTrue if this thread records operations."};

PyObject* is_inference_mode_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(autograd::is_inference_mode_enabled());
}

PyMethodDef is_inference_definition{"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS,
                                    "is_inference_mode_enabled()\n--\n\nTrue if this thread is in inference mode."};

void add_function(PyObject* module, PyMethodDef& definition) {
  const PyRef function = PyRef::adopt(checked(PyCFunction_NewEx(&definition, nullptr, nullptr)));
  checked(PyModule_AddObjectRef(module, definition.ml_name, function.get()));
}

template <auto Enter, auto Leave = leave>
PyTypeObject* make_type(const char* name, const char* doc, newfunc make_object, ternaryfunc call_object) {
  static PyMethodDef methods[] = {
      {"__enter__", Enter, METH_NOARGS, nullptr},
      {"__exit__", as_c_function(Leave), METH_FASTCALL, nullptr},
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
  return new_type<ModeObject>(name, slots);
}

}  // namespace

void add_grad_modes(PyObject* module) {
  no_grad_type = make_type<enter>("lamella.no_grad",
                                  "no_grad()\n--\n\n"
                                  "Records nothing in a `with` block, or in the function that it decorates.",
                                  create<false>, call);
  enable_grad_type = make_type<enter>("lamella.enable_grad",
                                      "enable_grad()\n--\n\n"
                                      "Records operations in a `with` block, or in the function that it decorates; not "
                                      "in inference mode,\nwhere nothing is recorded.",
                                      create<true>, call);
  checked(PyModule_AddType(module, no_grad_type));
  checked(PyModule_AddType(module, enable_grad_type));
  checked(PyModule_AddType(
      module,
      make_type<enter_set>("lamella.set_grad_enabled",
                           "set_grad_enabled(mode)\n--\n\n"
                           "Sets whether operations are recorded: from here on, for a `with` block, or for the\n"
                           "function that it decorates.",
                           create_set, call_set)));
  checked(PyModule_AddType(
      module, make_type<enter_inference, leave_inference>(
                  "lamella.inference_mode",
                  "inference_mode(mode=True)\n--\n\n"
                  "no_grad() for good, in a `with` block, or in the function that it decorates: what is made in it can "
                  "later be\n"
                  "read, but neither be saved for backward, want a gradient, nor be changed in place outside of such a "
                  "block\n"
                  "(RuntimeError; clone() gives an ordinary tensor there). inference_mode(False) ends it for an inner "
                  "block.",
                  create_inference, call_inference)));
  add_function(module, is_enabled_definition);
  add_function(module, is_inference_definition);
}

}  // namespace lamella::python
