#include "python/bindings/inspect.h"

#include "engine/autograd/diagnosis/draw.h"
#include "engine/autograd/diagnosis/explain.h"
#include "engine/autograd/diagnosis/inspect.h"
#include "engine/autograd/trace/anomaly.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

/// Converts a text to a Python string; file names in it need not be valid UTF-8.
PyRef text(const std::string& value) {
  return PyRef::adopt(
      checked(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "backslashreplace")));
}

PyObject* explain(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("explain", "x, of=None");
    const auto values = signature.bound<2>(args, count, keywords);
    const Tensor& x = read<const Tensor&>(values[0], {signature, 0});
    return text(autograd::explain(x, read_optional<Tensor>(values[1], {signature, 1}).value_or(Tensor()))).release();
  });
}

/// Reads a dict from names to tensors, or None.
std::vector<std::pair<Tensor, std::string>> read_names(PyObject* object, const Argument& argument) {
  std::vector<std::pair<Tensor, std::string>> names;
  if (object == Py_None) return names;
  if (!PyDict_Check(object)) argument.wrong_type("a dict from names to Tensors or None", object);
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);) {
    if (!PyUnicode_Check(key)) argument.wrong_type("names that are strings", key);
    if (!is_tensor(value)) argument.wrong_type("Tensors under the names", value);
    names.emplace_back(tensor_of(value), checked(PyUnicode_AsUTF8(key)));
  }
  return names;
}

PyObject* draw(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("draw", "tensors, params, format, max_nodes");
    const auto values = signature.bound<4>(args, count, keywords);
    const std::vector<Tensor> tensors = read_tensors(values[0], {signature, 0});
    autograd::DrawOptions options;
    options.names = read_names(values[1], {signature, 1});
    options.format = read<std::string_view>(values[2], {signature, 2});
    const auto max_nodes = read<std::int64_t>(values[3], {signature, 3});
    if (max_nodes < 1) Argument{signature, 3}.wrong_value(str("expected at least 1, got ", max_nodes));
    options.max_nodes = static_cast<std::size_t>(max_nodes);
    return text(autograd::draw(tensors, options)).release();
  });
}

/// Returns {name: (nodes, saved bytes)}.
PyObject* to_dict(const autograd::GraphStats& stats) {
  PyRef dict = PyRef::adopt(checked(PyDict_New()));
  for (const auto& [name, entry] : stats) {
    const PyRef key = text(name);
    const PyRef value = PyRef::adopt(checked(
        Py_BuildValue("(nn)", static_cast<Py_ssize_t>(entry.nodes), static_cast<Py_ssize_t>(entry.saved_bytes))));
    checked(PyDict_SetItem(dict.get(), key.get(), value.get()));
  }
  return dict.release();
}

PyObject* graph_stats(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("graph_stats", "tensors");
    const auto values = signature.bound<1>(args, count, keywords);
    return to_dict(autograd::graph_stats(read_tensors(values[0], {signature, 0})));
  });
}

PyObject* live_stats(PyObject*, PyObject*) {
  return guarded([&] { return to_dict(autograd::live_stats()); });
}

/// Returns (tracing, traced before anomaly detection began, checks or None), the argument of set_tracing_state.
PyObject* tracing_state(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const autograd::TracingState state = autograd::tracing_state();
    PyRef checks = PyRef::share(Py_None);
    if (state.anomaly) {
      const autograd::AnomalyChecks& c = state.anomaly->checks();
      checks = PyRef::adopt(
          checked(Py_BuildValue("(NNN)", PyBool_FromLong(c.nan), PyBool_FromLong(c.inf), PyBool_FromLong(c.forward))));
    }
    return checked(Py_BuildValue("(NNO)", PyBool_FromLong(state.tracing),
                                 PyBool_FromLong(state.anomaly && state.anomaly->traced_before()), checks.get()));
  });
}

PyObject* set_tracing_state(PyObject*, PyObject* argument) {
  return guarded([&]() -> PyObject* {
    if (!PyTuple_Check(argument)) fail<TypeError>("[_set_tracing_state] expected a tuple, got ", type_name(argument));
    int tracing = 0;
    int before = 0;
    PyObject* checks = nullptr;
    if (!PyArg_ParseTuple(argument, "ppO:_set_tracing_state", &tracing, &before, &checks)) throw_python_error();
    autograd::TracingState state{tracing != 0, nullptr};
    if (checks != Py_None) {
      if (!PyTuple_Check(checks))
        fail<TypeError>("[_set_tracing_state] expected a tuple of checks or None, got ", type_name(checks));
      int nan = 0;
      int inf = 0;
      int forward = 0;
      if (!PyArg_ParseTuple(checks, "ppp:_set_tracing_state", &nan, &inf, &forward)) throw_python_error();
      state.anomaly = std::make_shared<autograd::Anomaly>(
          autograd::AnomalyChecks{.nan = nan != 0, .inf = inf != 0, .forward = forward != 0}, before != 0);
    }
    autograd::set_tracing_state(std::move(state));
    Py_RETURN_NONE;
  });
}

PyMethodDef inspect_method_defs[] = {
    {"explain", as_c_function(explain), METH_FASTCALL | METH_KEYWORDS,
     "explain(x, of=None)\n--\n\n"
     "Tells in words why x.grad is None, or why x is off the tape, and what to change.\n\n"
     "It is as precise as the tensor's flags and the graph allow. For the very operation and its line, run the "
     "computation (and the backward\n"
     "pass) under :func:`trace` or :func:`detect_anomaly`. With `of`, a result, it tells whether the tape leads from "
     "there to x, through\n"
     "which operations, or where it ends. TypeError for anything but tensors."},
    {"_draw", as_c_function(draw), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_graph_stats", as_c_function(graph_stats), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_live_stats", live_stats, METH_NOARGS, nullptr},
    {"_tracing_state", tracing_state, METH_NOARGS, nullptr},
    {"_set_tracing_state", set_tracing_state, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* inspect_functions() { return inspect_method_defs; }

}  // namespace lamella::python
