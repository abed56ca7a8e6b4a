#include "python/bindings/layer_info.h"

#include <array>
#include <memory>

#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

PyTypeObject* layer_base = nullptr;

namespace {

constexpr autograd::Dialect kNative{};
constexpr autograd::Dialect kPaddle{
    .returned_input_is_in_place = true, .strict_stop_gradient = true, .integer_outputs = true};

struct Names {
  PyObject* forward = checked(PyUnicode_InternFromString("forward"));
  PyObject* backward = checked(PyUnicode_InternFromString("backward"));
  PyObject* setup_context = checked(PyUnicode_InternFromString("setup_context"));
  PyObject* jvp = checked(PyUnicode_InternFromString("jvp"));
  PyObject* vmap = checked(PyUnicode_InternFromString("vmap"));
  PyObject* dialect = checked(PyUnicode_InternFromString("_dialect"));
  PyObject* wrapped = checked(PyUnicode_InternFromString("__wrapped__"));
  PyObject* once = checked(PyUnicode_InternFromString("_once_differentiable"));
};

const Names& names() {
  static const Names made;
  return made;
}

/// Returns a function of the class, null if only lm.PyLayer itself defines it. Sets `kept` to false if the class does
/// not keep the function alive: a function that is bound anew at each look-up is neither plain nor static.
PyRef find_function(PyTypeObject* layer, PyObject* name, bool& kept) {
  const PyRef raw = find_in_type(layer, name);
  if (!raw || raw.get() == find_in_type(layer_base, name).get()) return {};
  PyRef function = PyRef::adopt(checked(PyObject_GetAttr(reinterpret_cast<PyObject*>(layer), name)));
  if (!(Py_IS_TYPE(raw.get(), &PyStaticMethod_Type) || function.get() == raw.get())) kept = false;
  return function;
}

std::string text_of(PyObject* text) {
  const char* utf8 = PyUnicode_AsUTF8(text);
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "?";
}

/// Reads the parameters of a function written in Python from its code object.
void read_code(LayerInfo& info, PyObject* function, std::size_t skip) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  info.code = reinterpret_cast<PyObject*>(code);
  const PyRef variables = PyRef::adopt(checked(PyCode_GetVarnames(code)));
  const auto positional = static_cast<std::size_t>(code->co_argcount);
  const std::size_t all = positional + static_cast<std::size_t>(code->co_kwonlyargcount);
  const auto variable = [&](std::size_t i) {
    return text_of(PyTuple_GET_ITEM(variables.get(), static_cast<Py_ssize_t>(i)));
  };
  for (std::size_t i = skip; i < all; ++i) info.names.push_back(variable(i));
  info.positional = positional > skip ? positional - skip : 0;
  if (code->co_flags & CO_VARARGS) info.rest = variable(all);
}

/// Reads the parameters of any callable through Python's inspect; a callable without a signature gets no names.
void read_signature(LayerInfo& info, PyObject* function, std::size_t skip) {
  const PyRef inspect = PyRef::adopt(checked(PyImport_ImportModule("inspect")));
  const PyRef signature = PyRef::adopt(PyObject_CallMethod(inspect.get(), "signature", "O", function));
  if (!signature) {
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError)) throw_python_error();
    PyErr_Clear();
    return;
  }
  const PyRef parameters = PyRef::adopt(checked(PyObject_GetAttrString(signature.get(), "parameters")));
  const PyRef values = PyRef::adopt(checked(PyMapping_Values(parameters.get())));
  const PyRef kinds = PyRef::adopt(checked(PyObject_GetAttrString(inspect.get(), "Parameter")));
  const PyRef empty = PyRef::adopt(checked(PyObject_GetAttrString(kinds.get(), "empty")));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); ++i) {
    const PyRef name = PyRef::adopt(checked(PyObject_GetAttrString(PyList_GET_ITEM(values.get(), i), "name")));
    const PyRef kind = PyRef::adopt(checked(PyObject_GetAttrString(PyList_GET_ITEM(values.get(), i), "kind")));
    const long value =
        PyLong_AsLong(kind.get());  // inspect.Parameter: 0, 1 positional, 2 *args, 3 keyword-only, 4 **kwargs
    if (value <= 1 && skip > 0) {
      --skip;
    } else if (value <= 1 || value == 3) {
      info.names.push_back(text_of(name.get()));
      if (value <= 1) ++info.positional;
      PyRef value_left = PyRef::adopt(checked(PyObject_GetAttrString(PyList_GET_ITEM(values.get(), i), "default")));
      info.defaults.push_back(value_left.get() == empty.get() ? PyRef() : std::move(value_left));
    } else if (value == 2) {
      info.rest = text_of(name.get());
    }
  }
}

void look_up(LayerInfo& info, PyTypeObject* layer) {
  info = LayerInfo();
  info.layer = layer;
  bool kept = true;
  const PyRef forward = find_function(layer, names().forward, kept);
  if (!forward) fail<NotImplementedError>("[", layer->tp_name, "] the layer defines no forward");
  const PyRef backward = find_function(layer, names().backward, kept);
  const PyRef setup_context = find_function(layer, names().setup_context, kept);
  const PyRef jvp = find_function(layer, names().jvp, kept);
  info.forward = forward.get();
  info.backward = backward.get();
  info.setup_context = setup_context.get();
  info.jvp = jvp.get();
  const PyRef vmap = find_function(layer, names().vmap, kept);
  info.vmap = vmap.get();
  if (backward) {
    const PyRef once = PyRef::adopt(PyObject_GetAttr(backward.get(), names().once));
    if (!once) PyErr_Clear();
    info.once_differentiable = once.get() == Py_True;
  }
  if (const PyRef dialect = find_in_type(layer, names().dialect)) {
    if (PyUnicode_Check(dialect.get())) info.paddle = text_of(dialect.get()) == "paddle";
  }
  info.dialect = info.paddle ? &kPaddle : &kNative;
  const std::size_t skip = setup_context ? 0 : 1;  // ctx
  // A decorated function accepts anything; its signature is that of the function it wraps.
  const bool plain = PyFunction_Check(info.forward) && !PyObject_HasAttr(info.forward, names().wrapped);
  if (plain) {
    read_code(info, info.forward, skip);
  } else {
    read_signature(info, info.forward, skip);
  }
#ifdef Py_GIL_DISABLED
  info.held = {forward, backward, setup_context, jvp, vmap};
#else
  if (!kept) {
    // A function bound anew at each look-up is owned by nobody else: it is kept here until the next look-up.
    static auto* last = new std::array<PyRef, 5>;
    *last = {forward, backward, setup_context, jvp, vmap};
  }
#endif
  info.version = kept ? layer->tp_version_tag : 0;
}

#ifndef Py_GIL_DISABLED
bool is_current(const LayerInfo& info, PyTypeObject* layer) {
  return info.layer == layer && info.version != 0 && info.version == layer->tp_version_tag &&
         (!info.code || info.code == PyFunction_GET_CODE(info.forward));
}

constexpr std::size_t kEntries = 256;
#endif

}  // namespace

PyRef default_of(const LayerInfo& info, std::size_t i) {
  if (!info.code) return i < info.defaults.size() ? info.defaults[i] : PyRef();
  if (i >= info.positional) {
    PyObject* const values = PyFunction_GET_KW_DEFAULTS(info.forward);
    if (!values || !PyDict_Check(values)) return {};
    const PyRef name = PyRef::adopt(checked(PyUnicode_FromString(info.names[i].c_str())));
    return PyRef::share(PyDict_GetItemWithError(values, name.get()));
  }
  PyObject* const values = PyFunction_GET_DEFAULTS(info.forward);
  const std::size_t count = values && PyTuple_Check(values) ? static_cast<std::size_t>(PyTuple_GET_SIZE(values)) : 0;
  const std::size_t from_end = info.positional - i;
  if (from_end > count) return {};
  return PyRef::share(PyTuple_GET_ITEM(values, static_cast<Py_ssize_t>(count - from_end)));
}

#ifdef Py_GIL_DISABLED
LayerInfo layer_info(PyTypeObject* layer) {
  LayerInfo info;
  look_up(info, layer);
  return info;
}
#else
const LayerInfo& layer_info(PyTypeObject* layer) {
  static std::array<std::unique_ptr<LayerInfo>, kEntries>* entries =
      new std::array<std::unique_ptr<LayerInfo>, kEntries>;
  auto& entry = (*entries)[(reinterpret_cast<std::uintptr_t>(layer) >> 4) % kEntries];
  if (entry && is_current(*entry, layer)) [[likely]]
    return *entry;
  auto fresh = std::make_unique<LayerInfo>();
  look_up(*fresh, layer);
  entry = std::move(fresh);
  return *entry;
}
#endif

}  // namespace lamella::python
