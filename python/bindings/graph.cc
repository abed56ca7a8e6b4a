// Binds engine/graph: the type _Graph, which the package lamella.graph wraps. Values are ids, -1 for none.

#include "python/bindings/graph.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/graph/draw.h"
#include "engine/graph/executor.h"
#include "engine/graph/graph.h"
#include "engine/graph/layer.h"
#include "engine/registry/dispatcher.h"
#include "ops/fusion/fuse.h"
#include "ops/fusion/native/native.h"
#include "python/bindings/adapted.h"
#include "python/bindings/containers.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/native_programs.h"
#include "python/bindings/registry_values.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

using graph::Graph;
using graph::GraphFunction;
using graph::GraphNode;
using graph::GraphValue;
using graph::kNoValue;
using graph::NodeArgument;
using graph::ValueId;
using graph::ValueType;

/// The functions that nodes call, during a run: a list that the graph's Python object owns, so that Python's garbage
/// collector sees them.
thread_local PyObject* run_functions = nullptr;

class FunctionsInRun {
 public:
  explicit FunctionsInRun(PyObject* functions) noexcept : outer_(std::exchange(run_functions, functions)) {}
  ~FunctionsInRun() { run_functions = outer_; }
  FunctionsInRun(const FunctionsInRun&) = delete;
  FunctionsInRun& operator=(const FunctionsInRun&) = delete;

 private:
  PyObject* outer_;
};

/// Calls the function at that position: it takes a list of tensors and returns one.
GraphFunction function_at(std::size_t position) {
  return [position](std::vector<Tensor> inputs) {
    const PyRef function = PyRef::share(PyList_GetItem(run_functions, static_cast<Py_ssize_t>(position)));
    if (!function) throw_python_error();
    PyRef arguments = wrap_all(inputs);
    inputs.clear();
    const PyRef results = PyRef::adopt(checked(PyObject_CallOneArg(function.get(), arguments.get())));
    std::vector<Tensor> tensors;
    if (!PyList_Check(results.get())) fail<TypeError>("a function of a graph returns a list");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(results.get()); ++i) {
      PyObject* const item = PyList_GET_ITEM(results.get(), i);
      if (item != Py_None && !is_tensor(item)) fail<TypeError>("expected a Tensor or None, got ", type_name(item));
      tensors.push_back(item == Py_None ? Tensor() : tensor_of(item));
    }
    return tensors;
  };
}

using Ids = std::vector<std::int64_t>;

ValueId to_id(std::int64_t id) { return id < 0 ? kNoValue : static_cast<ValueId>(id); }
std::int64_t from_id(ValueId id) { return id == kNoValue ? -1 : static_cast<std::int64_t>(id); }

std::vector<ValueId> to_ids(const Ids& ids) {
  std::vector<ValueId> result;
  for (const std::int64_t id : ids) result.push_back(to_id(id));
  return result;
}
Ids from_ids(const std::vector<ValueId>& ids) {
  Ids result;
  for (const ValueId id : ids) result.push_back(from_id(id));
  return result;
}

ValueType to_type(PyObject* dtype, const Ids& shape) {
  ValueType type;
  if (!as_dtype(dtype, type.dtype)) fail<TypeError>("[graph] expected a dtype, got ", type_name(dtype));
  type.shape = Dims(shape.begin(), shape.end());
  return type;
}

/// Reads a list of pairs of a dtype and a shape.
std::vector<ValueType> to_types(PyObject* list) {
  std::vector<ValueType> types;
  for (PyObject* pair : Adapted<std::vector<PyObject*>>::from(list)) {
    const PyRef dtype = PyRef::adopt(checked(PySequence_GetItem(pair, 0)));
    const PyRef shape = PyRef::adopt(checked(PySequence_GetItem(pair, 1)));
    types.push_back(to_type(dtype.get(), Adapted<Ids>::from(shape.get())));
  }
  return types;
}

/// Describes an argument: ("value", id), ("values", ids) or ("constant", object, text); None stands for a generator.
PyRef describe_argument(const NodeArgument& argument) {
  switch (argument.kind) {
    case NodeArgument::Kind::Value:
      return adapted_tuple(std::string("value"), from_id(argument.values[0]));
    case NodeArgument::Kind::Values:
      return adapted_tuple(std::string("values"), from_ids(argument.values));
    case NodeArgument::Kind::Constant:
      break;
  }
  const auto constant = argument.constant.view();
  const PyRef object =
      constant.kind == registry::Arg::Kind::Generator ? PyRef::share(Py_None) : value_to_python(constant);
  return adapted_tuple(std::string("constant"), object, argument.constant.str());
}

std::string kind_name(GraphNode::Kind kind) {
  switch (kind) {
    case GraphNode::Kind::Operator:
      return "operator";
    case GraphNode::Kind::Function:
      return "function";
    case GraphNode::Kind::Gradients:
      break;
  }
  return "gradients";
}

/// A graph with the executors that its runs have made.
class Program {
 public:
  explicit Program(Graph graph) : graph_(std::move(graph)) {}

  /// Returns the graph for a change.
  Graph& graph() {
    executors_.clear();
    return graph_;
  }
  const Graph& view() const { return graph_; }

  std::shared_ptr<graph::Executor> executor(const Ids& fetches, bool prune, bool fuse, bool callers_tape = false) {
    auto& executor = executors_[{fetches, prune, fuse, callers_tape}];
    if (!executor) {
      const std::vector<ValueId> ids = to_ids(fetches);
      const graph::Executor::Options options{.prune = prune, .callers_tape = callers_tape};
      executor =
          std::make_shared<graph::Executor>(fuse ? fusion::fuse(graph_, ids, callers_tape) : graph_, ids, options);
    }
    return executor;
  }

 private:
  Graph graph_;
  std::map<std::tuple<Ids, bool, bool, bool>, std::shared_ptr<graph::Executor>> executors_;
};

/// Python object of a graph.
struct GraphObject {
  PyObject_HEAD Program* program;
};

PyTypeObject* graph_type = nullptr;

Program& program_of(PyObject* self) { return *reinterpret_cast<GraphObject*>(self)->program; }

PyRef new_graph(Graph graph) {
  PyRef object = PyRef::adopt(checked(graph_type->tp_alloc(graph_type, 0)));
  reinterpret_cast<GraphObject*>(object.get())->program = new Program(std::move(graph));
  return object;
}

PyObject* create_graph(PyTypeObject*, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    const char* name = nullptr;
    if (!PyArg_ParseTuple(args, "s:_Graph", &name)) return nullptr;
    return new_graph(Graph(name)).release();
  });
}

void destroy_graph(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<GraphObject*>(self)->program;
  type->tp_free(self);
  Py_DECREF(type);
}

// The methods take and return what Adapted converts.

Ids add_operator(Program& program, const std::string& name, const std::vector<PyObject*>& arguments,
                 const std::vector<bool>& references, PyObject* results, Ids list_sizes, std::string where) {
  const OperatorHandle op = Dispatcher::singleton().find_schema_or_throw(name);
  const auto& wanted = op.schema().arguments;
  if (arguments.size() != wanted.size() || references.size() != wanted.size())
    fail<ValueError>("[", name, "] takes ", wanted.size(), " arguments, got ", arguments.size());
  std::vector<NodeArgument> given;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    PyObject* const object = arguments[i];
    if (!references[i]) {
      CallStorage storage;
      const registry::Arg view = read_value(object, wanted[i].type, {op.full_name(), wanted[i].name}, storage);
      given.push_back(NodeArgument::of(registry::Value(view)));
    } else if (PyList_Check(object)) {
      given.push_back(NodeArgument::of(to_ids(Adapted<Ids>::from(object))));
    } else {
      given.push_back(NodeArgument::of(to_id(Adapted<std::int64_t>::from(object))));
    }
  }
  return from_ids(program.graph()
                      .add_operator(op, std::move(given), to_types(results), std::move(list_sizes), std::move(where))
                      .results);
}

Ids add_function(Program& program, std::string name, std::int64_t position, const Ids& inputs, PyObject* results,
                 bool effects, std::string where) {
  return from_ids(program.graph()
                      .add_function(std::move(name), function_at(static_cast<std::size_t>(position)), to_ids(inputs),
                                    to_types(results), effects, std::move(where))
                      .results);
}

/// Adds a layer whose forward and backward are graphs: see graph::LayerGraphs. Where `any_size` is set they do for all
/// sizes of their inputs.
Ids add_layer(Program& program, std::string name, PyObject* forward, const Ids& inputs, std::int64_t result,
              const Ids& saved, PyObject* backward, const Ids& backward_saved, std::int64_t gradient,
              const Ids& gradients, bool any_size, const Ids& arguments, PyObject* type, std::string where) {
  auto layer = std::make_shared<const graph::LayerGraphs>(graph::LayerGraphs{.name = std::move(name),
                                                                             .forward = graph_of(forward),
                                                                             .inputs = to_ids(inputs),
                                                                             .result = to_id(result),
                                                                             .saved = to_ids(saved),
                                                                             .backward = graph_of(backward),
                                                                             .backward_saved = to_ids(backward_saved),
                                                                             .gradient = to_id(gradient),
                                                                             .gradients = to_ids(gradients)});
  std::vector<ValueId> values = layer->saved;
  values.push_back(layer->result);
  std::vector<ValueId> grads;
  std::ranges::copy_if(layer->gradients, std::back_inserter(grads), [](ValueId id) { return id != kNoValue; });
  const auto prepared = [&](const Graph& graph, const std::vector<ValueId>& fetches) {
    const Graph fused = fusion::fuse(graph, fetches, true);
    return any_size ? fused.of_any_size() : fused;
  };
  GraphFunction function =
      graph::layer_function(*layer, prepared(layer->forward, values), prepared(layer->backward, grads));
  return from_ids(
      program.graph()
          .add_layer(std::move(layer), std::move(function), to_ids(arguments), to_types(type).at(0), std::move(where))
          .results);
}

/// Says of the function that was added last that it computes gradients: positions among its tensors of the targets and
/// of the gradients to begin with, -1 for ones. `accumulates` as in graph::BackwardPass.
void mark_pass(Program& program, const Ids& targets, const Ids& seeds, bool accumulates) {
  graph::BackwardPass pass{.targets = {}, .seeds = {}, .accumulates = accumulates};
  for (const std::int64_t target : targets) pass.targets.push_back(static_cast<std::size_t>(target));
  for (const std::int64_t seed : seeds) {
    pass.seeds.push_back(seed < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(seed)));
  }
  program.graph().mark_pass(std::move(pass));
}

Ids add_gradients(Program& program, const Ids& targets, const Ids& inputs, const Ids& begin, std::string where) {
  return from_ids(
      program.graph().add_gradients(to_ids(targets), to_ids(inputs), to_ids(begin), std::move(where)).results);
}

PyRef value(const Program& program, std::int64_t id) {
  if (id < 0 || static_cast<std::size_t>(id) >= program.view().values().size())
    fail<IndexError>("[graph] there is no value ", id);
  const GraphValue& value = program.view().value(to_id(id));
  constexpr const char* kOrigins[] = {"input", "captured", "result"};
  return adapted_tuple(value.name, PyRef::adopt(checked(dtype_object(value.type.dtype))),
                       tuple_of_ints(value.type.shape), std::string(kOrigins[static_cast<std::size_t>(value.origin)]),
                       value.stop_gradient, value.captured);
}

PyRef nodes(const Program& program) {
  return list_from(program.view().nodes(), [](const GraphNode& node) {
    std::size_t next = 0;
    const PyRef arguments = list_from(node.arguments, [&](const NodeArgument& argument) {
      const std::size_t i = next++;
      return adapted_tuple(node.op ? node.op->schema().arguments[i].name : std::string(), describe_argument(argument));
    });
    return adapted_tuple(kind_name(node.kind), node.name, arguments, from_ids(node.results), node.list_sizes,
                         node.effects, node.no_grad, node.where);
  });
}

std::vector<Tensor> run(Program& program, PyObject* feeds, const Ids& fetches, bool prune, bool fuse, bool wait,
                        PyObject* functions) {
  PyObject *key = nullptr, *fed = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(feeds, &at, &key, &fed);) {
    const std::string name = Adapted<std::string>::from(key);
    const auto id = program.view().find(name);
    if (!id || program.view().value(*id).origin != GraphValue::Origin::Input)
      fail<ValueError>("[", program.view().name, "] got a feed for '", name, "', which is no input of the graph");
  }
  // Held here, as a function of the graph may change it.
  const std::shared_ptr<graph::Executor> executor = program.executor(fetches, prune, fuse);
  std::vector<Tensor> tensors;
  for (const ValueId id : executor->inputs()) {
    const PyRef name = Adapted<std::string>::to(executor->graph().value(id).name);
    PyObject* const tensor = PyDict_GetItemWithError(feeds, name.get());
    if (!tensor && PyErr_Occurred()) throw_python_error();
    tensors.push_back(tensor ? Adapted<Tensor>::from(tensor) : Tensor());
  }
  std::vector<Tensor> results = [&] {
    const fusion::native::CompileScope scope(wait);
    graph::Executor::Failure failure;
    return run_executor(*executor, tensors, functions, failure);
  }();
  tell_native_problems();
  return results;
}

/// Runs a part of another graph, within a run of it: on its tape, with a tensor for each of `inputs`.
std::vector<Tensor> call(Program& program, const Ids& inputs, const std::vector<Tensor>& tensors, const Ids& fetches,
                         PyObject* functions) {
  if (inputs.size() != tensors.size())
    fail<ValueError>("[graph] got ", tensors.size(), " tensors for ", inputs.size(), " inputs");
  const std::shared_ptr<graph::Executor> executor = program.executor(fetches, true, true, true);
  std::vector<Tensor> feeds;
  for (const ValueId id : executor->inputs()) {
    const auto at = std::ranges::find(inputs, from_id(id));
    if (at == inputs.end()) fail<ValueError>("[graph] the input '", executor->graph().value(id).name, "' is not given");
    feeds.push_back(tensors[static_cast<std::size_t>(at - inputs.begin())]);
  }
  graph::Executor::Failure failure;
  return run_executor(*executor, feeds, functions, failure);
}

PyObject* parse(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 3 || !PyDict_Check(args[1])) fail<TypeError>("parse(text, captured, functions)");
    std::unordered_map<std::string, Tensor> tensors;
    PyObject *name = nullptr, *tensor = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(args[1], &at, &name, &tensor);)
      tensors.emplace(Adapted<std::string>::from(name), Adapted<Tensor>::from(tensor));
    std::unordered_map<std::string, GraphFunction> by_name;
    const auto functions = Adapted<std::vector<std::string>>::from(args[2]);
    for (std::size_t i = 0; i < functions.size(); ++i) by_name.emplace(functions[i], function_at(i));
    return new_graph(Graph::parse(Adapted<std::string>::from(args[0]), tensors, by_name)).release();
  });
}

template <auto F>
PyMethodDef def(const char* name) {
  return {name, as_c_function(adapted_method<F, program_of>), METH_FASTCALL, nullptr};
}

PyMethodDef graph_methods[] = {
    def<+[](Program& p, std::string name, PyObject* dtype, const Ids& shape) {
      return from_id(p.graph().add_input(std::move(name), to_type(dtype, shape)));
    }>("add_input"),
    def<+[](Program& p, std::string name, PyObject* dtype, const Ids& shape) {
      return from_id(p.graph().declare(std::move(name), to_type(dtype, shape)));
    }>("declare"),
    def<+[](Program& p, std::int64_t declared, std::int64_t computed) {
      p.graph().define(to_id(declared), to_id(computed));
    }>("define"),
    def<+[](Program& p, const Tensor& x, std::string name) {
      return from_id(p.graph().add_captured(x, std::move(name)));
    }>("add_captured"),
    def<+[](Program& p, const Tensor& x) { return from_id(p.view().find_captured(x).value_or(kNoValue)); }>(
        "find_captured"),
    def<+[](Program& p, std::int64_t id, const Tensor& x) { p.graph().replace_captured(to_id(id), x); }>(
        "replace_captured"),
    def<add_operator>("add_operator"),
    def<add_function>("add_function"),
    def<add_layer>("add_layer"),
    def<add_gradients>("add_gradients"),
    def<+[](Program& p) { p.graph().mark_effects(); }>("mark_effects"),
    def<+[](Program& p) { p.graph().mark_required(); }>("mark_required"),
    def<+[](Program& p) { p.graph().mark_commuting(); }>("mark_commuting"),
    def<mark_pass>("mark_pass"),
    def<+[](Program& p, bool off) { p.graph().set_no_grad(off); }>("set_no_grad"),
    def<+[](Program& p, const std::string& name) { return from_id(p.view().find(name).value_or(kNoValue)); }>("find"),
    def<+[](Program& p, std::int64_t id, std::string name) { p.graph().rename(to_id(id), std::move(name)); }>("rename"),
    def<+[](Program& p, std::int64_t id, bool stop) { p.graph().set_stop_gradient(to_id(id), stop); }>(
        "set_stop_gradient"),
    def<value>("value"),
    def<+[](Program& p) { return static_cast<std::int64_t>(p.view().values().size()); }>("value_count"),
    def<nodes>("nodes"),
    def<+[](Program& p) { return p.view().text(); }>("text"),
    def<+[](Program& p, std::int64_t max_nodes) {
      return graph::draw(p.view(), static_cast<std::size_t>(std::max<std::int64_t>(0, max_nodes)));
    }>("draw"),
    def<+[](Program& p) { p.view().verify(); }>("verify"),
    def<+[](Program& p) { return new_graph(p.view()); }>("clone"),
    def<+[](Program& p, const Ids& fetches) { return new_graph(p.view().pruned(to_ids(fetches))); }>("pruned"),
    def<+[](Program& p, const Ids& fetches) { return new_graph(fusion::fuse(p.view(), to_ids(fetches))); }>("fused"),
    def<+[](Program& p, const Ids& kept) { return new_graph(p.view().compacted(to_ids(kept))); }>("compacted"),
    def<+[](Program& p) { return new_graph(p.view().for_inference()); }>("for_inference"),
    def<+[](Program& p, PyObject* other) {
      std::optional<Graph> general = p.view().generalized(graph_of(other));
      return general ? new_graph(std::move(*general)) : PyRef::share(Py_None);
    }>("generalized"),
    def<run>("run"),
    def<call>("call"),
    {"parse", as_c_function(parse), METH_FASTCALL | METH_STATIC, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* graph_name(PyObject* self, void*) {
  return guarded([&]() -> PyObject* { return Adapted<std::string>::to(program_of(self).view().name).release(); });
}

PyGetSetDef graph_attributes[] = {
    {"name", graph_name, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

const Graph& graph_of(PyObject* object) {
  if (!Py_IS_TYPE(object, graph_type)) fail<TypeError>("expected a graph, got ", type_name(object));
  return program_of(object).view();
}

std::vector<Tensor> run_executor(graph::Executor& executor, std::span<const Tensor> feeds, PyObject* functions,
                                 graph::Executor::Failure& failure) {
  const FunctionsInRun scope(functions);
  try {
    std::vector<Tensor> results = executor.run(feeds, failure);
    tell_native_problems();
    return results;
  } catch (...) {
    set_python_error();
    if (!failure.node.empty()) add_note("in " + failure.node + " of the graph '" + executor.graph().name + "'");
    throw_python_error();
  }
}

PyTypeObject* make_graph_type() {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(create_graph)},
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy_graph)},
      {Py_tp_methods, graph_methods},
      {Py_tp_getset, graph_attributes},
      {0, nullptr},
  };
  static PyType_Spec spec{
      .name = "lamella._C._Graph",
      .basicsize = sizeof(GraphObject),
      .itemsize = 0,
      .flags = Py_TPFLAGS_DEFAULT,
      .slots = slots,
  };
  graph_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  return graph_type;
}

}  // namespace lamella::python
