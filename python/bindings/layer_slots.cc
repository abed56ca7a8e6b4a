#include "python/bindings/layer_slots.h"

#include <atomic>
#include <string_view>

#include "engine/autograd/trace/profile.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/profile.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

/// True while there are hooks of all layers.
std::atomic<bool> all_hooked = false;

/// Names of the dictionaries in which a layer keeps what was registered, in the order of the search.
constexpr const char* kTables[] = {"_parameters", "_modules", "_buffers"};

/// Returns the entry of a layer's tables for that name, borrowed; null if there is none.
PyObject* registered(PyObject* layer, PyObject* name) {
  static PyObject* const tables[] = {PyUnicode_InternFromString(kTables[0]), PyUnicode_InternFromString(kTables[1]),
                                     PyUnicode_InternFromString(kTables[2])};
  const PyRef attributes = PyRef::adopt(PyObject_GenericGetDict(layer, nullptr));
  if (!attributes) PyErr_Clear();
  for (PyObject* const key : tables) {
    PyObject* const table = attributes ? PyDict_GetItemWithError(attributes.get(), key) : nullptr;
    PyObject* const found = table && PyDict_Check(table) ? PyDict_GetItemWithError(table, name) : nullptr;
    if (found) return found;
    if (PyErr_Occurred()) return nullptr;
  }
  return nullptr;
}

/// Gets an attribute as Module.__getattr__ does, which it calls for what is in none of the tables.
PyObject* get_attribute(PyObject* layer, PyObject* name) {
  PyObject* const own = _PyObject_GenericGetAttrWithDict(layer, name, nullptr, 1);
  if (own || PyErr_Occurred()) return own;
  if (PyObject* const found = registered(layer, name)) return Py_NewRef(found);
  if (PyErr_Occurred()) return nullptr;
  static PyObject* const other = PyUnicode_InternFromString("__getattr__");
  const PyRef method = PyRef::adopt(PyObject_GenericGetAttr(layer, other));
  return method ? PyObject_CallOneArg(method.get(), name) : nullptr;
}

/// Calls a layer as Hooked.__call__ does, which it calls for layers that have hooks.
PyObject* call_layer(PyObject* layer, PyObject* args, PyObject* kwargs) {
  static PyObject* const names[] = {PyUnicode_InternFromString("_hook_table"), PyUnicode_InternFromString("forward"),
                                    PyUnicode_InternFromString("__call__")};
  const PyRef attributes = PyRef::adopt(PyObject_GenericGetDict(layer, nullptr));
  if (!attributes) return nullptr;
  const int hooked = all_hooked.load(std::memory_order_relaxed) ? 1 : PyDict_Contains(attributes.get(), names[0]);
  if (hooked < 0) return nullptr;
  const PyRef method = PyRef::adopt(PyObject_GetAttr(layer, names[1 + hooked]));
  if (!method) return nullptr;
  if (hooked) return PyObject_Call(method.get(), args, kwargs);  // a profile measures that method itself
  const autograd::ProfileSpan span(autograd::ProfileEvent::Kind::Scope,
                                   autograd::active_profile() ? name_of_layer(layer) : std::string_view());
  return PyObject_Call(method.get(), args, kwargs);
}

/// Has a class call a function in C where it would call a method of its base's.
PyObject* quicken(PyObject* type, const auto& change) {
  return guarded([&]() -> PyObject* {
    if (!PyType_Check(type) || !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type), Py_TPFLAGS_HEAPTYPE))
      fail<TypeError>("expected a class, got ", type_name(type));
    change(reinterpret_cast<PyTypeObject*>(type));
    Py_RETURN_NONE;
  });
}

PyObject* quicken_attributes(PyObject*, PyObject* type) {
  return quicken(type, [](PyTypeObject* of) { of->tp_getattro = get_attribute; });
}

PyObject* quicken_calls(PyObject*, PyObject* type) {
  return quicken(type, [](PyTypeObject* of) { of->tp_call = call_layer; });
}

PyObject* hook_all_calls(PyObject*, PyObject* enabled) {
  return guarded([&]() -> PyObject* {
    all_hooked.store(checked(PyObject_IsTrue(enabled)) != 0, std::memory_order_relaxed);
    Py_RETURN_NONE;
  });
}

}  // namespace

PyMethodDef* layer_slot_functions() {
  static PyMethodDef functions[] = {
      {"_quicken_attributes", quicken_attributes, METH_O,
       "_quicken_attributes(cls, /)\n--\n\n"
       "Has a class of layers, which has Module's own __getattr__, look into the tables of parameters, submodules and\n"
       "buffers before it is called."},
      {"_quicken_calls", quicken_calls, METH_O,
       "_quicken_calls(cls, /)\n--\n\n"
       "Has a class of layers, which has Hooked's own __call__, call forward itself where an object has no hooks."},
      {"_hook_all_calls", hook_all_calls, METH_O,
       "_hook_all_calls(enabled, /)\n--\n\nSets whether every layer is called as one that has hooks."},
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

}  // namespace lamella::python
