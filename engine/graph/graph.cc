#include "engine/graph/graph.h"

#include <algorithm>
#include <numeric>

#include "engine/core/error.h"
#include "engine/registry/boxed_types.h"
#include "engine/registry/schema.h"

namespace lamella::graph {

Graph::Graph(std::string name) : name(std::move(name)) {}

std::string Graph::unique_name(std::string base) {
  if (!base.empty() && !names_.contains(base)) return base;
  if (base.empty()) base = "t";
  const std::string stem = base == "t" ? base : base + "_";
  for (;;) {
    std::string candidate = stem + std::to_string(next_name_++);
    if (!names_.contains(candidate)) return candidate;
  }
}

ValueId Graph::add_value(GraphValue value) {
  const auto id = static_cast<ValueId>(values_.size());
  names_.emplace(value.name, id);
  values_.push_back(std::move(value));
  return id;
}

ValueId Graph::add_named(std::string value_name, ValueType type, GraphValue::Origin origin) {
  if (value_name.empty()) fail<ValueError>("[graph] an input needs a name");
  if (names_.contains(value_name)) fail<ValueError>("[graph] there is a value named '", value_name, "' already");
  for (const std::int64_t size : type.shape) {
    if (size < kUnknown) {
      fail<ValueError>("[graph] input '", value_name,
                       "': sizes are at least 0, or -1 for one that is known later; got ", to_string(type.shape));
    }
  }
  const bool is_input = origin == GraphValue::Origin::Input;
  return add_value({std::move(value_name), std::move(type), origin, is_input, {}});
}

ValueId Graph::add_input(std::string input_name, ValueType type) {
  return add_named(std::move(input_name), std::move(type), GraphValue::Origin::Input);
}

ValueId Graph::declare(std::string value_name, ValueType type) {
  return add_named(std::move(value_name), std::move(type), GraphValue::Origin::Result);
}

void Graph::define(ValueId declared, ValueId computed) {
  std::string wanted = values_.at(declared).name;
  rename(declared, unique_name(wanted + "@before"));
  rename(computed, std::move(wanted));
}

ValueId Graph::add_captured(const Tensor& x, std::string name) {
  if (const auto known = find_captured(x)) return *known;
  const ValueId id = add_value({unique_name(name.empty() ? "c" : std::move(name)),
                                {x.dtype(), x.shape()},
                                GraphValue::Origin::Captured,
                                false,
                                x});
  captured_.emplace(x.impl(), id);
  return id;
}

void Graph::check_value(ValueId id, const GraphNode& node) const {
  if (id != kNoValue && id >= values_.size()) {
    fail<ValueError>("[graph] ", describe(node), " has an argument that is no value of the graph '", name, "'");
  }
}

void Graph::check_arguments(const GraphNode& node) const {
  for (const NodeArgument& argument : node.arguments) {
    for (const ValueId id : argument.values) check_value(id, node);
  }
  if (!node.op) return;  // it calls no operator
  const Schema& schema = node.op->schema();
  if (node.arguments.size() != schema.arguments.size()) {
    fail<ValueError>("[graph] ", describe(node), " has ", node.arguments.size(), " arguments, the operator takes ",
                     schema.arguments.size(), ": ", schema.str());
  }
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const NodeArgument& argument = node.arguments[i];
    const registry::Type& type = schema.arguments[i].type;
    const bool fits = argument.kind == NodeArgument::Kind::Constant
                          ? registry::is_value_of(type, argument.constant.view())
                          : type.holds_tensors() && type.list == (argument.kind == NodeArgument::Kind::Values);
    if (!fits) {
      fail<ValueError>("[graph] ", describe(node), ": argument '", schema.arguments[i].name, "' is ", type.str(),
                       ", got ",
                       argument.kind == NodeArgument::Kind::Constant ? registry::describe(argument.constant.kind())
                       : argument.kind == NodeArgument::Kind::Values ? "a list of tensors"
                                                                     : "a tensor");
    }
  }
  std::size_t count = 0;
  for (const std::int64_t size : node.list_sizes) count += size < 0 ? 1 : static_cast<std::size_t>(size);
  if (node.list_sizes.size() != schema.results.size() || count != node.results.size()) {
    fail<ValueError>("[graph] ", describe(node), " has ", node.results.size(), " results that do not fit ",
                     schema.str());
  }
}

void Graph::add_results(GraphNode& node, std::vector<ValueType> types) {
  for (ValueType& type : types) {
    node.results.push_back(add_value({unique_name("t"), std::move(type), GraphValue::Origin::Result, false, {}}));
  }
}

const GraphNode& Graph::add_node(GraphNode node) {
  node.no_grad = no_grad_;
  return nodes_.emplace_back(std::move(node));
}

const GraphNode& Graph::add_operator(const OperatorHandle& op, std::vector<NodeArgument> arguments,
                                     std::vector<ValueType> results, std::vector<std::int64_t> list_sizes,
                                     std::string where) {
  GraphNode node{.kind = GraphNode::Kind::Operator,
                 .name = op.full_name(),
                 .op = op,
                 .function = {},
                 .arguments = std::move(arguments),
                 .results = std::vector<ValueId>(results.size(), kNoValue),
                 .list_sizes = std::move(list_sizes),
                 // An operator without results is there for what else it does.
                 .effects = op.schema().is_mutable() || op.schema().results.empty(),
                 .where = std::move(where)};
  check_arguments(node);
  node.results.clear();
  add_results(node, std::move(results));
  return add_node(std::move(node));
}

const GraphNode& Graph::add_function(std::string function_name, GraphFunction function, std::vector<ValueId> inputs,
                                     std::vector<ValueType> results, bool effects, std::string where) {
  GraphNode node{.kind = GraphNode::Kind::Function,
                 .name = std::move(function_name),
                 .op = {},
                 .function = std::move(function),
                 .arguments = {NodeArgument::of(std::move(inputs))},
                 .results = {},
                 .list_sizes = {},
                 .effects = effects,
                 .host_code = true,
                 .where = std::move(where)};
  check_arguments(node);
  add_results(node, std::move(results));
  return add_node(std::move(node));
}

const GraphNode& Graph::add_layer(std::shared_ptr<const LayerGraphs> layer, GraphFunction function,
                                  std::vector<ValueId> inputs, ValueType result, std::string where) {
  add_function(layer->name, std::move(function), std::move(inputs), {std::move(result)}, false, std::move(where));
  nodes_.back().layer = std::move(layer);
  nodes_.back().host_code = false;
  return nodes_.back();
}

const GraphNode& Graph::add_gradients(std::vector<ValueId> targets, std::vector<ValueId> inputs,
                                      std::vector<ValueId> begin, std::string where) {
  if (targets.empty() || inputs.empty()) fail<ValueError>("[gradients] needs at least one target and one input");
  if (!begin.empty() && begin.size() != targets.size()) {
    fail<ValueError>("[gradients] got ", begin.size(), " gradients to begin with for ", targets.size(), " targets");
  }
  GraphNode node{.kind = GraphNode::Kind::Gradients,
                 .name = "gradients",
                 .op = {},
                 .function = {},
                 .arguments = {NodeArgument::of(targets), NodeArgument::of(inputs), NodeArgument::of(std::move(begin))},
                 .results = {},
                 .list_sizes = {},
                 .effects = false,
                 .where = std::move(where)};
  check_arguments(node);
  for (const ValueId input : inputs) {
    const std::vector<bool> reached = reached_from(std::span(&input, 1));
    if (std::ranges::none_of(targets, [&](ValueId target) { return reached[target]; })) {
      node.results.push_back(kNoValue);
    } else {
      add_results(node, {values_[input].type});
    }
  }
  return add_node(std::move(node));
}

std::optional<ValueId> Graph::find(std::string_view wanted) const {
  const auto found = names_.find(std::string(wanted));
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ValueId> Graph::find_captured(const Tensor& x) const {
  const auto found = captured_.find(x.impl());
  return found == captured_.end() ? std::nullopt : std::optional(found->second);
}

void Graph::rename(ValueId id, std::string to) {
  GraphValue& value = values_.at(id);
  if (value.name == to) return;
  if (to.empty()) fail<ValueError>("[graph] a value needs a name");
  if (names_.contains(to)) fail<ValueError>("[graph] there is a value named '", to, "' already");
  names_.erase(value.name);
  names_.emplace(to, id);
  value.name = std::move(to);
}

void Graph::set_stop_gradient(ValueId id, bool stop) { values_.at(id).stop_gradient = stop; }

void Graph::replace_captured(ValueId id, const Tensor& x) {
  GraphValue& value = values_.at(id);
  if (value.origin != GraphValue::Origin::Captured)
    fail<ValueError>("[graph] '", value.name, "' is no captured tensor");
  if (!value.type.admits(x)) {
    fail<ValueError>("[graph] '", value.name, "' is ", value.type.str(), ", got ", lamella::describe(x));
  }
  captured_.erase(value.captured.impl());
  captured_.emplace(x.impl(), id);
  value.captured = x;
}

std::vector<bool> Graph::reached_from(std::span<const ValueId> sources) const {
  std::vector<bool> reached(values_.size(), false);
  for (const ValueId id : sources) reached.at(id) = true;
  for (const GraphNode& node : nodes_) {
    if (node.no_grad) continue;
    bool any = false;
    for_each_argument(node, [&](ValueId id) { any |= reached[id]; });
    if (!any) continue;
    // A write may reach any value so far, as views of the memory are not known.
    if (node.op && node.op->schema().is_mutable()) {
      for (ValueId id = 0; id < node.results.front(); ++id) {
        reached[id] = !values_[id].stop_gradient && is_differentiable(values_[id].type.dtype);
      }
    }
    for (const ValueId id : node.results) {
      if (id != kNoValue && !values_[id].stop_gradient && is_differentiable(values_[id].type.dtype)) reached[id] = true;
    }
  }
  return reached;
}

namespace {

bool same_argument(const NodeArgument& a, const NodeArgument& b) {
  if (a.kind != b.kind || a.values != b.values) return false;
  if (a.kind != NodeArgument::Kind::Constant) return true;
  const registry::Arg x = a.constant.view();
  const registry::Arg y = b.constant.view();
  if (x.kind == registry::Arg::Kind::Generator && y.kind == x.kind) return x.generator == y.generator;
  return a.constant.kind() == b.constant.kind() && a.constant.str() == b.constant.str();
}

bool same_layer(const LayerGraphs* a, const LayerGraphs* b) {
  if (!a || !b) return a == b;
  return a->gradients == b->gradients && a->forward.of_any_size().text() == b->forward.of_any_size().text() &&
         a->backward.of_any_size().text() == b->backward.of_any_size().text();
}

bool same_node(const GraphNode& a, const GraphNode& b) {
  return a.kind == b.kind && a.name == b.name && same_layer(a.layer.get(), b.layer.get()) && a.results == b.results &&
         a.list_sizes == b.list_sizes && a.effects == b.effects && a.required == b.required && a.no_grad == b.no_grad &&
         std::ranges::equal(a.arguments, b.arguments, same_argument);
}

}  // namespace

std::optional<Graph> Graph::generalized(const Graph& other) const {
  if (values_.size() != other.values_.size() || !std::ranges::equal(nodes_, other.nodes_, same_node)) return {};
  for (const GraphNode& node : nodes_) {
    if (std::ranges::any_of(node.list_sizes, [](std::int64_t size) { return size >= 0; })) return {};
  }
  Graph result = *this;
  for (std::size_t id = 0; id < values_.size(); ++id) {
    const GraphValue& theirs = other.values_[id];
    GraphValue& value = result.values_[id];
    if (value.origin != theirs.origin || value.type.dtype != theirs.type.dtype ||
        value.type.shape.size() != theirs.type.shape.size() ||
        (value.origin == GraphValue::Origin::Captured && !value.captured.same(theirs.captured))) {
      return {};
    }
    for (std::size_t axis = 0; axis < value.type.shape.size(); ++axis) {
      const bool known =
          value.origin != GraphValue::Origin::Result && value.type.shape[axis] == theirs.type.shape[axis];
      if (!known) value.type.shape[axis] = kUnknown;
    }
  }
  return result;
}

Graph Graph::of_any_size() const {
  Graph graph = *this;
  for (GraphValue& value : graph.values_) {
    if (value.origin != GraphValue::Origin::Captured) std::ranges::fill(value.type.shape, kUnknown);
  }
  return graph;
}

namespace {

/// Returns the schema of an operator that writes into an argument; null for other nodes.
const Schema* schema_of_writer(const GraphNode& node) { return node.effects && node.op ? &node.op->schema() : nullptr; }

/// Sets of values that may share memory: as schemas of operators that read do not tell which results are views, each
/// result of theirs may be one of any argument.
class Shared {
 public:
  explicit Shared(const Graph& graph) : parents_(graph.values().size()) {
    std::iota(parents_.begin(), parents_.end(), ValueId{0});
    for (const GraphNode& node : graph.nodes()) {
      const Schema* const schema = schema_of_writer(node);
      const bool told = schema && schema->is_mutable();
      for (const ValueId result : node.results) {
        if (result == kNoValue) continue;
        for (std::size_t k = 0; k < node.arguments.size(); ++k) {
          if (told && !schema->arguments[k].alias) continue;
          for (const ValueId id : node.arguments[k].values) {
            if (id != kNoValue) parents_[set_of(result)] = set_of(id);
          }
        }
      }
    }
  }

  ValueId set_of(ValueId id) {
    while (parents_[id] != id) id = parents_[id] = parents_[parents_[id]];
    return id;
  }

 private:
  std::vector<ValueId> parents_;
};

/// Calls f(id) for each value that a node writes to.
template <class F>
void for_each_written(const GraphNode& node, F&& f) {
  const Schema* const schema = schema_of_writer(node);
  if (!schema) return;
  const bool told = schema->is_mutable();
  for (std::size_t k = 0; k < node.arguments.size(); ++k) {
    if (told && !schema->arguments[k].is_written()) continue;
    for (const ValueId id : node.arguments[k].values) {
      if (id != kNoValue) f(id);
    }
  }
}

}  // namespace

Graph Graph::pruned(std::span<const ValueId> fetches) const {
  Shared shared(*this);
  std::vector<bool> needed(values_.size(), false);
  std::vector<bool> read(values_.size(), false);  // sets of which a value is read later
  const auto need = [&](ValueId id) { needed.at(id) = read[shared.set_of(id)] = true; };
  std::ranges::for_each(fetches, need);
  std::vector<bool> keep(nodes_.size(), false);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const GraphNode& node = nodes_[i];
    keep[i] = std::ranges::any_of(node.results, [&](ValueId id) { return id != kNoValue && needed[id]; });
    for_each_written(node, [&](ValueId id) { keep[i] = keep[i] || read[shared.set_of(id)]; });
    if (keep[i]) for_each_argument(node, need);
  }
  std::vector<GraphNode> kept;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (keep[i]) kept.push_back(nodes_[i]);
  }
  return with_nodes(std::move(kept));
}

Graph Graph::with_nodes(std::vector<GraphNode> nodes) const {
  Graph graph = *this;
  graph.nodes_ = std::move(nodes);
  return graph;
}

Graph Graph::for_inference() const {
  Graph graph = *this;
  graph.nodes_.clear();
  std::vector<bool> gone(values_.size(), false);
  for (const GraphNode& node : nodes_) {
    bool dropped = node.kind == GraphNode::Kind::Gradients;
    for_each_argument(node, [&](ValueId id) { dropped |= gone[id]; });
    if (dropped) {
      for (const ValueId id : node.results) {
        if (id != kNoValue) gone[id] = true;
      }
      continue;
    }
    GraphNode& kept = graph.nodes_.emplace_back(node);
    if (!node.op) continue;
    const Schema& schema = node.op->schema();
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      if (schema.arguments[i].name == "training") kept.arguments[i] = NodeArgument::of(registry::Value(false));
    }
  }
  return graph;
}

Graph Graph::compacted(std::span<const ValueId> kept) const {
  std::vector<bool> used(values_.size(), false);
  for (const ValueId id : kept) used.at(id) = true;
  for (const GraphNode& node : nodes_) {
    for_each_argument(node, [&](ValueId id) { used[id] = true; });
    for (const ValueId id : node.results) {
      if (id != kNoValue) used[id] = true;
    }
  }
  Graph graph(name);
  std::vector<ValueId> moved(values_.size(), kNoValue);
  for (ValueId id = 0; id < values_.size(); ++id) {
    if (!used[id]) continue;
    moved[id] = graph.add_value(values_[id]);
    if (values_[id].captured.defined()) graph.captured_.emplace(values_[id].captured.impl(), moved[id]);
  }
  const auto move = [&](ValueId& id) {
    if (id != kNoValue) id = moved[id];
  };
  graph.nodes_ = nodes_;
  for (GraphNode& node : graph.nodes_) {
    for (NodeArgument& argument : node.arguments) std::ranges::for_each(argument.values, move);
    std::ranges::for_each(node.results, move);
  }
  return graph;
}

void Graph::verify() const {
  std::vector<bool> defined(values_.size(), false);
  for (std::size_t i = 0; i < values_.size(); ++i) defined[i] = values_[i].origin != GraphValue::Origin::Result;
  for (const GraphNode& node : nodes_) {
    check_arguments(node);
    for_each_argument(node, [&](ValueId id) {
      if (!defined[id])
        fail<ValueError>("[graph] ", describe(node), " uses '", values_[id].name, "' before it is computed");
    });
    for (const ValueId id : node.results) {
      if (id == kNoValue) continue;
      check_value(id, node);
      if (defined[id]) fail<ValueError>("[graph] ", describe(node), " defines '", values_[id].name, "' anew");
      defined[id] = true;
    }
  }
}

}  // namespace lamella::graph
