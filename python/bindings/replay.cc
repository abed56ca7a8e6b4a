#include "python/bindings/replay.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/modes.h"
#include "engine/core/tensor.h"
#include "engine/graph/device_graphs.h"
#include "ops/fusion/fuse.h"
#include "ops/fusion/native/native.h"
#include "python/bindings/adapted.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"
#include "python/bindings/guards.h"
#include "python/bindings/method.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

/// A value with tensors in it, as it was in the observed call: a number or another object, a tensor, or a container.
struct Form {
  enum class Kind : std::uint8_t { Constant, Tensor, Tuple, List, Dict };

  Kind kind = Kind::Constant;
  /// The constant, a tuple of a dictionary's keys, or the type of a named tuple or a tensor.
  PyRef object;
  /// Position of a tensor.
  std::size_t index = 0;
  std::vector<Form> items;

  /// Reads ("constant", object), ("tensor", type, position), ("list", items), ("dict", keys, items) or ("tuple", type,
  /// items).
  static Form parse(PyObject* description);
  /// Appends the tensors of an object of this form, in order; false if it is of another form.
  bool match(PyObject* value, std::vector<const Tensor*>& tensors) const;
  PyRef build(const std::vector<Tensor>& tensors) const;
  int traverse(visitproc visit, void* arg) const;
};

/// True if a tensor of a subclass has attributes of its own.
bool has_attributes(PyObject* tensor) {
  if (Py_IS_TYPE(tensor, tensor_type)) return false;
  const PyRef attributes = PyRef::adopt(PyObject_GenericGetDict(tensor, nullptr));
  if (!attributes) PyErr_Clear();  // the subclass has none
  return attributes && PyDict_GET_SIZE(attributes.get()) > 0;
}

Form Form::parse(PyObject* description) {
  const auto fields = Adapted<std::vector<PyObject*>>::from(description);
  if (fields.size() < 2) fail<ValueError>("[replay] a form has at least two fields");
  const std::string kind = Adapted<std::string>::from(fields[0]);
  Form form;
  if (kind == "constant") {
    form.object = PyRef::share(fields[1]);
    return form;
  }
  if (kind == "tensor") {
    if (fields.size() != 3) fail<ValueError>("[replay] a tensor has a type and a position");
    form.kind = Kind::Tensor;
    form.object = PyRef::share(fields[1]);
    form.index = static_cast<std::size_t>(Adapted<std::int64_t>::from(fields[2]));
    return form;
  }
  form.kind = kind == "list" ? Kind::List : kind == "dict" ? Kind::Dict : Kind::Tuple;
  if (form.kind != Kind::List) form.object = PyRef::share(fields[1]);
  if (form.kind == Kind::Tuple && !PyType_Check(fields[1])) fail<ValueError>("[replay] '", kind, "' is no form");
  for (PyObject* item : Adapted<std::vector<PyObject*>>::from(fields.back())) form.items.push_back(parse(item));
  if (form.kind == Kind::Dict &&
      (!PyTuple_Check(fields[1]) || PyTuple_GET_SIZE(fields[1]) != static_cast<Py_ssize_t>(form.items.size()))) {
    fail<ValueError>("[replay] a dictionary has a key for each value");
  }
  return form;
}

bool Form::match(PyObject* value, std::vector<const Tensor*>& tensors) const {
  switch (kind) {
    case Kind::Constant:
      return is_unchanged(value, object.get());
    case Kind::Tensor:
      if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != object.get() || has_attributes(value)) return false;
      tensors.push_back(&tensor_of(value));
      return true;
    case Kind::List:
    case Kind::Tuple: {
      if (kind == Kind::List ? !PyList_CheckExact(value)
                             : !Py_IS_TYPE(value, reinterpret_cast<PyTypeObject*>(object.get())))
        return false;
      if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(items.size())) return false;
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (!items[i].match(PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i)), tensors)) return false;
      }
      return true;
    }
    case Kind::Dict:
      break;
  }
  if (!PyDict_CheckExact(value) || PyDict_GET_SIZE(value) != static_cast<Py_ssize_t>(items.size())) return false;
  PyObject *key = nullptr, *item = nullptr;
  Py_ssize_t i = 0;
  for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item); ++i) {
    if (!is_unchanged(key, PyTuple_GET_ITEM(object.get(), i))) return false;
    if (!items[static_cast<std::size_t>(i)].match(item, tensors)) return false;
  }
  return true;
}

PyRef Form::build(const std::vector<Tensor>& tensors) const {
  const auto build_item = [&](const Form& item) { return item.build(tensors); };
  switch (kind) {
    case Kind::Constant:
      return object;
    case Kind::Tensor:
      return wrap_ref(tensors.at(index));
    case Kind::List:
      return list_from(items, build_item);
    case Kind::Tuple: {
      PyRef tuple = tuple_from(items, build_item);
      if (object.get() == reinterpret_cast<PyObject*>(&PyTuple_Type)) return tuple;
      // Named tuples of Python; those of C take a sequence.
      const bool named = PyObject_HasAttrString(object.get(), "_make") != 0;
      return PyRef::adopt(checked(named ? PyObject_CallMethod(object.get(), "_make", "(O)", tuple.get())
                                        : PyObject_CallOneArg(object.get(), tuple.get())));
    }
    case Kind::Dict:
      break;
  }
  PyRef dict = PyRef::adopt(checked(PyDict_New()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const PyRef item = items[i].build(tensors);
    checked(PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(object.get(), static_cast<Py_ssize_t>(i)), item.get()));
  }
  return dict;
}

int Form::traverse(visitproc visit, void* arg) const {
  Py_VISIT(object.get());
  for (const Form& item : items) {
    if (const int result = item.traverse(visit, arg)) return result;
  }
  return 0;
}

/// Properties of a tensor that the course of a program may depend on, beside its elements.
struct TensorKind {
  DType dtype;
  Device device;
  /// Sizes; any number where one is kUnknown.
  Dims shape;
  Dims strides;
  bool any_size = false;
  bool stop_gradient;
  bool is_leaf;
  bool inference;

  explicit TensorKind(const Tensor& x)
      : dtype(x.dtype()),
        device(x.device()),
        shape(x.shape().begin(), x.shape().end()),
        strides(x.strides().begin(), x.strides().end()),
        stop_gradient(x.stop_gradient()),
        is_leaf(x.is_leaf()),
        inference((x->flags & TensorImpl::kInference) != 0) {}

  /// Lets sizes vary that are kUnknown in `sizes`.
  void generalize(const Dims& sizes) {
    shape = sizes;
    any_size = std::ranges::count(sizes, graph::kUnknown) > 0;
  }

  bool matches(const Tensor& x) const {
    return x.defined() && x.dtype() == dtype && x.device() == device && x.stop_gradient() == stop_gradient &&
           x.is_leaf() == is_leaf && ((x->flags & TensorImpl::kInference) != 0) == inference && matches_layout(x);
  }

 private:
  bool matches_layout(const Tensor& x) const {
    if (!any_size) return std::ranges::equal(x.shape(), shape) && std::ranges::equal(x.strides(), strides);
    return x.is_contiguous() && std::ranges::equal(x.shape(), shape, [](std::int64_t size, std::int64_t wanted) {
             return size == wanted || wanted == graph::kUnknown;
           });
  }
};

struct Plan {
  std::shared_ptr<graph::Executor> executor;
  /// The executor's, or null.
  graph::DeviceGraphs* graphs = nullptr;
  PyRef functions;
  Form arguments;
  Form results;
  std::vector<TensorKind> inputs;
  /// For each of the executor's inputs, the position among the tensors of the arguments.
  std::vector<std::size_t> feeds;
  std::vector<std::pair<Tensor, TensorKind>> captured;
  /// Tensors that Python code can ask for their shapes and flags.
  std::vector<std::pair<PyRef, TensorKind>> read;
  Guards guards;
  /// Where each guard is in the program.
  std::vector<std::string> paths;
  /// True if a node may change what the guards see.
  bool calls_python = false;
  bool grad_enabled = autograd::is_grad_enabled();
  bool inference = autograd::is_inference_mode_enabled();
};

struct ReplayObject {
  PyObject_HEAD Plan* plan;
};

PyTypeObject* replay_type = nullptr;

Plan& plan_of(PyObject* self) {
  Plan* const plan = reinterpret_cast<ReplayObject*>(self)->plan;
  if (!plan) fail<RuntimeError>("[replay] it was dropped");
  return *plan;
}

/// True for the library's own operators.
bool is_built_in(const OperatorHandle& op) { return op.name().starts_with("lamella::"); }

/// Makes a replay from a graph, the fetched values, the functions of its nodes, the forms of arguments and results, the
/// tensors among the arguments, the values that stand for them, tensors that Python code can reach, guards with the
/// paths of what they watch, the mark of what guards leave out, and True to capture steps into CUDA graphs.
PyObject* create_replay(PyTypeObject*, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *program, *fetches, *functions, *arguments, *results, *inputs, *ids, *read, *guards, *paths, *unwatched;
    int device_graphs = 0;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOp:_Replay", &program, &fetches, &functions, &arguments, &results, &inputs,
                          &ids, &read, &guards, &paths, &unwatched, &device_graphs)) {
      return nullptr;
    }
    const graph::Graph& graph = graph_of(program);
    std::vector<graph::ValueId> fetched;
    for (const std::int64_t id : Adapted<std::vector<std::int64_t>>::from(fetches))
      fetched.push_back(static_cast<graph::ValueId>(id));
    graph::DeviceGraphs* graphs = nullptr;
    std::function<std::unique_ptr<graph::Executor::Runner>(const graph::Executor&)> runner;
    if (device_graphs != 0) {
      runner = [&graphs](const graph::Executor& executor) {
        auto made = std::make_unique<graph::DeviceGraphs>(executor, is_built_in);
        graphs = made.get();
        return made;
      };
    }
    auto plan = std::make_unique<Plan>(
        Plan{.executor = std::make_shared<graph::Executor>(
                 fusion::fuse(graph, fetched, true), fetched,
                 graph::Executor::Options{.prune = true, .callers_tape = true, .runner = std::move(runner)}),
             .graphs = nullptr,
             .functions = PyRef::share(functions),
             .arguments = Form::parse(arguments),
             .results = Form::parse(results),
             .inputs = {},
             .feeds = {},
             .captured = {},
             .read = {},
             .guards = Guards(guards, unwatched),
             .paths = Adapted<std::vector<std::string>>::from(paths)});
    plan->graphs = graphs;
    plan->calls_python = std::ranges::any_of(graph.nodes(), [](const graph::GraphNode& node) {
      return node.kind == graph::GraphNode::Kind::Function && node.effects;
    });
    const auto given = Adapted<std::vector<std::int64_t>>::from(ids);
    for (PyObject* x : Adapted<std::vector<PyObject*>>::from(inputs)) {
      const std::size_t i = plan->inputs.size();
      plan->inputs.emplace_back(Adapted<Tensor>::from(x))
          .generalize(graph.value(static_cast<graph::ValueId>(given.at(i))).type.shape);
    }
    for (const graph::ValueId id : plan->executor->inputs()) {
      const auto at = std::ranges::find(given, static_cast<std::int64_t>(id));
      if (at == given.end()) fail<ValueError>("[replay] the input '", graph.value(id).name, "' is no argument");
      plan->feeds.push_back(static_cast<std::size_t>(at - given.begin()));
    }
    for (const graph::GraphValue& value : graph.values()) {
      if (value.origin == graph::GraphValue::Origin::Captured)
        plan->captured.emplace_back(value.captured, TensorKind(value.captured));
    }
    for (PyObject* x : Adapted<std::vector<PyObject*>>::from(read))
      plan->read.emplace_back(PyRef::share(x), TensorKind(Adapted<Tensor>::from(x)));
    PyRef self = PyRef::adopt(checked(replay_type->tp_alloc(replay_type, 0)));
    reinterpret_cast<ReplayObject*>(self.get())->plan = plan.release();
    return self.release();
  });
}

int traverse_replay(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Plan* const plan = reinterpret_cast<ReplayObject*>(self)->plan;
  if (!plan) return 0;
  Py_VISIT(plan->functions.get());
  for (const auto& [object, kind] : plan->read) Py_VISIT(object.get());
  if (const int result = plan->arguments.traverse(visit, arg)) return result;
  if (const int result = plan->results.traverse(visit, arg)) return result;
  return plan->guards.traverse(visit, arg);
}

int clear_replay(PyObject* self) {
  const std::unique_ptr<Plan> plan(std::exchange(reinterpret_cast<ReplayObject*>(self)->plan, nullptr));
  return 0;
}

void destroy_replay(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_replay(self);
  type->tp_free(self);
  Py_DECREF(type);
}

/// True if each tensor of the arguments is another one, and none is one that the graph refers to.
bool are_apart(const Plan& plan, const std::vector<const Tensor*>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (tensors[i]->same(*tensors[k])) return false;
    }
    for (const auto& [captured, kind] : plan.captured) {
      if (tensors[i]->same(captured)) return false;
    }
  }
  return true;
}

/// Returns what hinders a replay of a call: "" if nothing does.
std::string obstacle(Plan& plan, PyObject* args, PyObject* kwargs, std::vector<const Tensor*>& tensors) {
  const autograd::Modes& modes = autograd::modes();
  if (modes.grad_enabled != plan.grad_enabled || modes.inference != plan.inference) return "recording is on or off";
  if (modes.interceptors != 0) return "a mode observes operators";
  const Form& form = plan.arguments;
  if (!form.items[0].match(args, tensors) || !form.items[1].match(kwargs, tensors)) return "other arguments";
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!plan.inputs[i].matches(*tensors[i])) return "another kind of tensor";
  }
  if (!are_apart(plan, tensors)) return "a tensor comes twice";
  for (const auto& [captured, kind] : plan.captured) {
    if (!kind.matches(captured)) return "another kind of captured tensor";
  }
  for (const auto& [object, kind] : plan.read) {
    if (!kind.matches(tensor_of(object.get()))) return "another kind of captured tensor";
  }
  if (const auto change = plan.guards.first_change()) return plan.paths.at(*change);
  return {};
}

/// Returns what the function would; NotImplemented if the call is another one than the observed.
PyObject* call_replay(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 2) fail<TypeError>("call(args, kwargs)");
    // Held, as functions of the graph may drop the replay.
    const PyRef held = PyRef::share(self);
    Plan& plan = plan_of(self);
    std::vector<const Tensor*> tensors;
    if (!obstacle(plan, args[0], args[1], tensors).empty()) Py_RETURN_NOTIMPLEMENTED;
    std::vector<Tensor> feeds;
    feeds.reserve(plan.feeds.size());
    for (const std::size_t i : plan.feeds) feeds.push_back(*tensors[i]);
    std::vector<Tensor> results;
    graph::Executor::Failure failure;
    // Programs are compiled before they are captured, as a graph keeps the kernels that it has.
    const fusion::native::CompileScope scope(plan.graphs && !plan.graphs->is_settled());
    try {
      results = run_executor(*plan.executor, feeds, plan.functions.get(), failure);
    } catch (...) {
      // What the function does about the exception is its own code, which can run from the start if nothing has
      // changed.
      set_python_error();
      if (failure.changed || PyErr_ExceptionMatches(PyExc_Exception) == 0) throw_python_error();
      PyErr_Clear();
      Py_RETURN_NOTIMPLEMENTED;
    }
    if (const auto change = plan.calls_python ? plan.guards.first_change() : std::nullopt) {
      fail<RuntimeError>("[compile] ", plan.paths.at(*change),
                         ", which the compiled function reads, was changed by a layer or a step that it calls: what it "
                         "computed after that may be wrong. Do not compile it, or keep such state in a tensor");
    }
    return plan.results.build(results).release();
  });
}

/// Says what hinders a replay of a call.
PyObject* explain_replay(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 2) fail<TypeError>("obstacle(args, kwargs)");
    std::vector<const Tensor*> tensors;
    return Adapted<std::string>::to(obstacle(plan_of(self), args[0], args[1], tensors)).release();
  });
}

/// Returns the bytes of a value, of which sizes that vary count as 1.
std::int64_t bytes_of(const graph::ValueType& type) {
  std::int64_t count = static_cast<std::int64_t>(item_size(type.dtype));
  for (const std::int64_t size : type.shape) count *= size == graph::kUnknown ? 1 : size;
  return count;
}

/// Describes the nodes that run, in order: name, line, and the bytes of operands and results, -1 for functions that are
/// called, which read and write what they like. Joined operators are one.
PyObject* list_steps(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const graph::Graph& graph = plan_of(self).executor->graph();
    return list_from(
               graph.nodes(),
               [&](const graph::GraphNode& node) {
                 std::int64_t read = 0;
                 std::int64_t written = 0;
                 graph::for_each_argument(node, [&](graph::ValueId id) { read += bytes_of(graph.value(id).type); });
                 for (const graph::ValueId id : node.results) {
                   if (id != graph::kNoValue) written += bytes_of(graph.value(id).type);
                 }
                 const bool called =
                     node.kind == graph::GraphNode::Kind::Function && !node.layer && !node.name.starts_with("fused ");
                 return adapted_tuple(node.name, node.where, called ? -1 : read, called ? -1 : written);
               })
        .release();
  });
}

/// Describes what became of the steps: of those that make a CUDA graph, or of one that makes none, the first and the
/// last, their number, the number of graphs and of their launches, and the reason why they run one by one.
PyObject* list_device_graphs(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const graph::DeviceGraphs* const graphs = plan_of(self).graphs;
    const auto reports = graphs ? graphs->reports() : std::vector<graph::DeviceGraphReport>();
    return list_from(reports,
                     [](const graph::DeviceGraphReport& report) {
                       return adapted_tuple(report.first, report.last, static_cast<std::int64_t>(report.steps),
                                            static_cast<std::int64_t>(report.graphs), report.launches, report.reason);
                     })
        .release();
  });
}

PyObject* first_change(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 2) fail<TypeError>("first_change(guards, unwatched)");
    const auto change = Guards(args[0], args[1]).first_change();
    return PyLong_FromLongLong(change ? static_cast<long long>(*change) : -1);
  });
}

PyMethodDef replay_methods[] = {
    {"call", as_c_function(call_replay), METH_FASTCALL, nullptr},
    {"obstacle", as_c_function(explain_replay), METH_FASTCALL, nullptr},
    {"steps", list_steps, METH_NOARGS, nullptr},
    {"device_graphs", list_device_graphs, METH_NOARGS, nullptr},
    {"first_change", as_c_function(first_change), METH_FASTCALL | METH_STATIC, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* make_replay_type() {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(create_replay)},
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy_replay)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse_replay)},
      {Py_tp_clear, reinterpret_cast<void*>(clear_replay)},
      {Py_tp_methods, replay_methods},
      {0, nullptr},
  };
  return replay_type = new_type<ReplayObject>("lamella._C._Replay", slots, Py_TPFLAGS_HAVE_GC);
}

}  // namespace lamella::python
