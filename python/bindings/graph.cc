// Binds engine/graph: the type _Graph, which the package lamella.graph wraps. Values are ids, -1 for none.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/graph/executor.h"
#include "engine/graph/graph.h"
#include "engine/registry/dispatcher.h"
#include "ops/fusion/fuse.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"
#include "python/bindings/registry_values.h"
#include "python/bindings/tensor_type.h"

namespace lamella::python {
namespace {

namespace py = pybind11;
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

ValueId to_id(std::int64_t id) { return id < 0 ? kNoValue : static_cast<ValueId>(id); }
std::int64_t from_id(ValueId id) { return id == kNoValue ? -1 : static_cast<std::int64_t>(id); }

std::vector<ValueId> to_ids(const std::vector<std::int64_t>& ids) {
  std::vector<ValueId> result;
  for (const std::int64_t id : ids) result.push_back(to_id(id));
  return result;
}
std::vector<std::int64_t> from_ids(const std::vector<ValueId>& ids) {
  std::vector<std::int64_t> result;
  for (const ValueId id : ids) result.push_back(from_id(id));
  return result;
}

const Tensor& to_tensor(const py::handle& object) {
  if (!is_tensor(object.ptr())) fail<TypeError>("[graph] expected a Tensor, got ", type_name(object.ptr()));
  return tensor_of(object.ptr());
}

ValueType to_type(const py::handle& dtype, const std::vector<std::int64_t>& shape) {
  ValueType type;
  if (!as_dtype(dtype.ptr(), type.dtype)) fail<TypeError>("[graph] expected a dtype, got ", type_name(dtype.ptr()));
  type.shape = Dims(shape.begin(), shape.end());
  return type;
}

std::vector<ValueType> to_types(const py::list& list) {
  std::vector<ValueType> types;
  for (const py::handle& item : list) {
    const auto pair = py::reinterpret_borrow<py::tuple>(item);
    types.push_back(to_type(pair[0], pair[1].cast<std::vector<std::int64_t>>()));
  }
  return types;
}

py::object to_object(PyRef object) { return py::reinterpret_steal<py::object>(object.release()); }

/// Describes an argument: ("value", id), ("values", ids) or ("constant", object, text).
py::tuple describe_argument(const NodeArgument& argument) {
  switch (argument.kind) {
    case NodeArgument::Kind::Value:
      return py::make_tuple("value", from_id(argument.values[0]));
    case NodeArgument::Kind::Values:
      return py::make_tuple("values", from_ids(argument.values));
    case NodeArgument::Kind::Constant:
      break;
  }
  return py::make_tuple("constant", to_object(value_to_python(argument.constant.view())), argument.constant.str());
}

const char* kind_name(GraphNode::Kind kind) {
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
class GraphObject {
 public:
  explicit GraphObject(Graph graph) : graph_(std::move(graph)) {}

  Graph& graph() {
    executors_.clear();  // the caller changes the graph
    return graph_;
  }
  const Graph& view() const { return graph_; }

  std::vector<std::int64_t> add_operator(const std::string& name, const py::list& arguments,
                                         const std::vector<bool>& references, const py::list& results,
                                         std::vector<std::int64_t> list_sizes, std::string where) {
    const OperatorHandle op = Dispatcher::singleton().find_schema_or_throw(name);
    const auto& wanted = op.schema().arguments;
    if (arguments.size() != wanted.size() || references.size() != wanted.size())
      fail<ValueError>("[", name, "] takes ", wanted.size(), " arguments, got ", arguments.size());
    std::vector<NodeArgument> given;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const py::object object = arguments[i];
      if (!references[i]) {
        CallStorage storage;
        const registry::Arg view = read_value(object.ptr(), wanted[i].type, {op.full_name(), wanted[i].name}, storage);
        given.push_back(NodeArgument::of(registry::Value(view)));
      } else if (py::isinstance<py::list>(object)) {
        given.push_back(NodeArgument::of(to_ids(object.cast<std::vector<std::int64_t>>())));
      } else {
        given.push_back(NodeArgument::of(to_id(object.cast<std::int64_t>())));
      }
    }
    return from_ids(
        graph().add_operator(op, std::move(given), to_types(results), std::move(list_sizes), std::move(where)).results);
  }

  py::tuple value(std::int64_t id) const {
    const GraphValue& value = graph_.value(to_id(id));
    const std::vector<std::int64_t> shape(value.type.shape.begin(), value.type.shape.end());
    const char* const origins[] = {"input", "captured", "result"};
    return py::make_tuple(value.name, to_object(PyRef::adopt(checked(dtype_object(value.type.dtype)))),
                          py::tuple(py::cast(shape)), origins[static_cast<std::size_t>(value.origin)],
                          value.stop_gradient, to_object(wrap_ref(value.captured)));
  }

  py::list nodes() const {
    py::list list;
    for (const GraphNode& node : graph_.nodes()) {
      py::list arguments;
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        const std::string name = node.op ? node.op->schema().arguments[i].name : "";
        arguments.append(py::make_tuple(name, describe_argument(node.arguments[i])));
      }
      list.append(py::make_tuple(kind_name(node.kind), node.name, arguments, from_ids(node.results), node.list_sizes,
                                 node.effects, node.no_grad, node.where));
    }
    return list;
  }

  py::list run(const py::dict& feeds, const std::vector<std::int64_t>& fetches, bool prune, bool fuse,
               const py::list& functions) {
    for (const auto& [key, tensor] : feeds) {
      const std::string name = py::str(key);
      const auto id = graph_.find(name);
      if (!id || graph_.value(*id).origin != GraphValue::Origin::Input)
        fail<ValueError>("[", graph_.name, "] got a feed for '", name, "', which is no input of the graph");
    }
    auto& executor = executors_[{fetches, prune, fuse}];
    if (!executor) {
      const std::vector<ValueId> ids = to_ids(fetches);
      executor = std::make_shared<graph::Executor>(fuse ? fusion::fuse(graph_, ids) : graph_, ids, prune);
    }
    const std::shared_ptr<graph::Executor> held = executor;  // a function of the graph may change it
    std::vector<Tensor> tensors;
    for (const ValueId id : held->inputs()) {
      const py::object name = py::cast(graph_.value(id).name);
      tensors.push_back(feeds.contains(name) ? to_tensor(feeds[name]) : Tensor());
    }
    const FunctionsInRun scope(functions.ptr());
    std::string failed;
    try {
      py::list results;
      for (Tensor& x : held->run(tensors, failed)) results.append(to_object(wrap_ref(std::move(x))));
      return results;
    } catch (...) {
      set_python_error();
      if (!failed.empty()) add_note("in " + failed + " of the graph '" + graph_.name + "'");
      throw_python_error();
    }
  }

 private:
  Graph graph_;
  std::map<std::tuple<std::vector<std::int64_t>, bool, bool>, std::shared_ptr<graph::Executor>> executors_;
};

/// Calls f as an entry point from Python.
template <class F>
auto entry(F&& f) {
  try {
    return f();
  } catch (const py::error_already_set&) {
    throw;
  } catch (const py::builtin_exception&) {
    throw;
  } catch (...) {
    set_python_error();
    throw py::error_already_set();
  }
}

GraphObject parse(const std::string& text, const py::dict& captured, const std::vector<std::string>& functions) {
  std::unordered_map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : captured) tensors.emplace(name.cast<std::string>(), to_tensor(tensor));
  std::unordered_map<std::string, GraphFunction> by_name;
  for (std::size_t i = 0; i < functions.size(); ++i) by_name.emplace(functions[i], function_at(i));
  return GraphObject(Graph::parse(text, tensors, by_name));
}

}  // namespace

void add_graph(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  using G = GraphObject;
  py::class_<G>(m, "_Graph")
      .def(py::init([](std::string name) { return G(Graph(std::move(name))); }))
      .def_property_readonly("name", [](const G& g) { return g.view().name; })
      .def("add_input",
           [](G& g, std::string name, const py::object& dtype, const std::vector<std::int64_t>& shape) {
             return entry([&] { return from_id(g.graph().add_input(std::move(name), to_type(dtype, shape))); });
           })
      .def("declare",
           [](G& g, std::string name, const py::object& dtype, const std::vector<std::int64_t>& shape) {
             return entry([&] { return from_id(g.graph().declare(std::move(name), to_type(dtype, shape))); });
           })
      .def("define",
           [](G& g, std::int64_t declared, std::int64_t computed) {
             return entry([&] { g.graph().define(to_id(declared), to_id(computed)); });
           })
      .def("for_inference", [](const G& g) { return entry([&] { return G(g.view().for_inference()); }); })
      .def("add_captured",
           [](G& g, const py::object& x, std::string name) {
             return entry([&] { return from_id(g.graph().add_captured(to_tensor(x), std::move(name))); });
           })
      .def("find_captured",
           [](const G& g, const py::object& x) {
             return entry([&] { return from_id(g.view().find_captured(to_tensor(x)).value_or(kNoValue)); });
           })
      .def("replace_captured",
           [](G& g, std::int64_t id, const py::object& x) {
             return entry([&] { g.graph().replace_captured(to_id(id), to_tensor(x)); });
           })
      .def("add_operator",
           [](G& g, const std::string& name, const py::list& arguments, const std::vector<bool>& references,
              const py::list& results, std::vector<std::int64_t> list_sizes, std::string where) {
             return entry([&] {
               return g.add_operator(name, arguments, references, results, std::move(list_sizes), std::move(where));
             });
           })
      .def("add_function",
           [](G& g, std::string name, std::size_t position, const std::vector<std::int64_t>& inputs,
              const py::list& results, bool effects, std::string where) {
             return entry([&] {
               return from_ids(g.graph()
                                   .add_function(std::move(name), function_at(position), to_ids(inputs),
                                                 to_types(results), effects, std::move(where))
                                   .results);
             });
           })
      .def("add_gradients",
           [](G& g, const std::vector<std::int64_t>& targets, const std::vector<std::int64_t>& inputs,
              const std::vector<std::int64_t>& begin, std::string where) {
             return entry([&] {
               return from_ids(
                   g.graph().add_gradients(to_ids(targets), to_ids(inputs), to_ids(begin), std::move(where)).results);
             });
           })
      .def("set_no_grad", [](G& g, bool off) { g.graph().set_no_grad(off); })
      .def("find", [](const G& g, const std::string& name) { return from_id(g.view().find(name).value_or(kNoValue)); })
      .def("rename", [](G& g, std::int64_t id,
                        std::string name) { return entry([&] { g.graph().rename(to_id(id), std::move(name)); }); })
      .def("set_stop_gradient", [](G& g, std::int64_t id, bool stop) { g.graph().set_stop_gradient(to_id(id), stop); })
      .def("value", [](const G& g, std::int64_t id) { return entry([&] { return g.value(id); }); })
      .def("value_count", [](const G& g) { return g.view().values().size(); })
      .def("nodes", [](const G& g) { return entry([&] { return g.nodes(); }); })
      .def("text", [](const G& g) { return entry([&] { return g.view().text(); }); })
      .def("verify", [](const G& g) { return entry([&] { g.view().verify(); }); })
      .def("clone", [](const G& g) { return G(g.view()); })
      .def("pruned",
           [](const G& g, const std::vector<std::int64_t>& fetches) {
             return entry([&] { return G(g.view().pruned(to_ids(fetches))); });
           })
      .def("fused",
           [](const G& g, const std::vector<std::int64_t>& fetches) {
             return entry([&] { return G(fusion::fuse(g.view(), to_ids(fetches))); });
           })
      .def("compacted",
           [](const G& g, const std::vector<std::int64_t>& kept) {
             return entry([&] { return G(g.view().compacted(to_ids(kept))); });
           })
      .def("run",
           [](G& g, const py::dict& feeds, const std::vector<std::int64_t>& fetches, bool prune, bool fuse,
              const py::list& functions) {
             return entry([&] { return g.run(feeds, fetches, prune, fuse, functions); });
           })
      .def_static("parse",
                  [](const std::string& text, const py::dict& captured, const std::vector<std::string>& functions) {
                    return entry([&] { return parse(text, captured, functions); });
                  });
}

}  // namespace lamella::python
