#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "engine/core/tensor.h"
#include "engine/registry/handle.h"
#include "engine/registry/value.h"

/// Programs: operators that are recorded once and run often.
namespace lamella::graph {

/// Number of a value in its graph.
using ValueId = std::uint32_t;
/// Stands for a missing optional tensor among a node's arguments, and for a result that is not kept.
inline constexpr ValueId kNoValue = ~ValueId{0};
/// The size of an axis that is known only when the graph runs.
inline constexpr std::int64_t kUnknown = -1;

/// Dtype and shape of a value; sizes may be kUnknown.
struct ValueType {
  DType dtype = DType::Float32;
  Dims shape;

  /// Returns "float32[-1, 784]".
  std::string str() const;
  /// True if a tensor of that dtype and shape can be the value.
  bool admits(const Tensor& x) const;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// A tensor of the graph: an input, a captured tensor or a result.
struct GraphValue {
  enum class Origin : std::uint8_t { Input, Captured, Result };

  std::string name;
  ValueType type;
  Origin origin = Origin::Result;
  /// True if no gradient flows back through the value.
  bool stop_gradient = false;
  /// The tensor of a captured value, whose contents are those of the time of a run.
  Tensor captured;
};

/// An argument of a node: a constant, a value (kNoValue for None), or a list of values.
struct NodeArgument {
  enum class Kind : std::uint8_t { Constant, Value, Values };

  Kind kind = Kind::Constant;
  registry::Value constant;
  std::vector<ValueId> values;

  static NodeArgument of(registry::Value constant) { return {Kind::Constant, std::move(constant), {}}; }
  static NodeArgument of(ValueId value) { return {Kind::Value, {}, {value}}; }
  static NodeArgument of(std::vector<ValueId> values) { return {Kind::Values, {}, std::move(values)}; }
};

/// A computation that is no registered operator: takes tensors and returns tensors, undefined ones for None.
using GraphFunction = std::function<std::vector<Tensor>(std::vector<Tensor>)>;

/// A step of a graph. Its arguments are values of earlier nodes.
struct GraphNode {
  enum class Kind : std::uint8_t {
    /// Calls a registered operator: one argument for each of the schema's.
    Operator,
    /// Calls a function with the tensors of its one argument, a list.
    Function,
    /// Computes gradients: arguments are the targets, the inputs and the gradients to begin with (kNoValue for ones).
    Gradients,
  };

  Kind kind = Kind::Operator;
  /// Full name of the operator, or name of the function.
  std::string name;
  std::optional<OperatorHandle> op;
  GraphFunction function;
  std::vector<NodeArgument> arguments;
  /// The results in order, those of a list one after another; kNoValue for None.
  std::vector<ValueId> results;
  /// For each of an operator's results: number of tensors in a list, or -1 for a single tensor.
  std::vector<std::int64_t> list_sizes;
  /// True if the node does more than compute its results.
  bool effects = false;
  /// True if the node runs with recording off.
  bool no_grad = false;
  /// Line of the program that made the node: "train.py:12".
  std::string where;
};

/// A list of nodes, in the order in which they run.
class Graph {
 public:
  explicit Graph(std::string name = "graph");

  std::string name;

  /// Adds a tensor that every run is given. ValueError for a name that is taken or empty, or a size below -1.
  ValueId add_input(std::string name, ValueType type);
  /// Adds a value that define() computes later. ValueError as for add_input().
  ValueId declare(std::string name, ValueType type);
  /// Gives the name of a declared value to one that a node computes.
  void define(ValueId declared, ValueId computed);
  /// Adds a tensor that the graph refers to; returns the same value for the same tensor. Its name is made unique.
  ValueId add_captured(const Tensor& x, std::string name);
  /// Adds a call of an operator. ValueError where the arguments do not fit its schema, or name a value that does not
  /// exist.
  const GraphNode& add_operator(const OperatorHandle& op, std::vector<NodeArgument> arguments,
                                std::vector<ValueType> results, std::vector<std::int64_t> list_sizes,
                                std::string where);
  /// Adds a call of a function.
  const GraphNode& add_function(std::string name, GraphFunction function, std::vector<ValueId> inputs,
                                std::vector<ValueType> results, bool effects, std::string where);
  /// Adds the gradients of targets with respect to inputs; the results of inputs that no target depends on are
  /// kNoValue. `begin` is empty, or has the gradient to begin with for each target, kNoValue for ones.
  const GraphNode& add_gradients(std::vector<ValueId> targets, std::vector<ValueId> inputs, std::vector<ValueId> begin,
                                 std::string where);
  /// Sets whether the nodes that are added from now on run with recording off.
  void set_no_grad(bool off) noexcept { no_grad_ = off; }

  const std::vector<GraphValue>& values() const noexcept { return values_; }
  const std::vector<GraphNode>& nodes() const noexcept { return nodes_; }
  const GraphValue& value(ValueId id) const { return values_.at(id); }
  /// Returns the value of that name; nothing if there is none.
  std::optional<ValueId> find(std::string_view name) const;
  /// Returns the value that refers to x; nothing if there is none.
  std::optional<ValueId> find_captured(const Tensor& x) const;
  /// Renames a value. ValueError for a name that is taken.
  void rename(ValueId id, std::string name);
  void set_stop_gradient(ValueId id, bool stop);
  /// Replaces a captured tensor by another one of the same type.
  void replace_captured(ValueId id, const Tensor& x);

  /// Returns a graph of the nodes that the fetches need, without effects, with the same ids of values.
  Graph pruned(std::span<const ValueId> fetches) const;
  /// Returns a graph of the same values with other nodes.
  Graph with_nodes(std::vector<GraphNode> nodes) const;
  /// Returns a graph without gradients and what is computed from them, and with "training" arguments of operators off,
  /// with the same ids of values.
  Graph for_inference() const;
  /// Returns a graph that lacks the inputs, captured tensors and declared values that no node uses, but for `kept`; its
  /// values have other ids.
  Graph compacted(std::span<const ValueId> kept) const;
  /// Returns this graph for inputs of more sizes: those that differ in `other`, a graph of the same nodes, and all
  /// sizes of results are unknown. Nothing if the graphs differ in more than sizes, or a node gives a list, whose
  /// length may depend on them.
  std::optional<Graph> generalized(const Graph& other) const;
  /// Throws ValueError, naming node and value, unless every argument is defined before its use and once, and every
  /// operator's arguments fit its schema.
  void verify() const;
  /// Returns for each value whether a gradient with respect to one of `sources` flows through it.
  std::vector<bool> reached_from(std::span<const ValueId> sources) const;

  /// Returns the text form, which parse() reads as an equal graph; functions and captured tensors appear by name.
  std::string text() const;
  /// Reads the text form. ValueError with the line's number and text where it is wrong; `captured` and `functions` have
  /// what the text refers to by name.
  static Graph parse(std::string_view text, const std::unordered_map<std::string, Tensor>& captured,
                     const std::unordered_map<std::string, GraphFunction>& functions = {});

 private:
  ValueId add_value(GraphValue value);
  ValueId add_named(std::string name, ValueType type, GraphValue::Origin origin);
  std::string unique_name(std::string base);
  void check_value(ValueId id, const GraphNode& node) const;
  void check_arguments(const GraphNode& node) const;
  void add_results(GraphNode& node, std::vector<ValueType> types);
  const GraphNode& add_node(GraphNode node);

  std::vector<GraphValue> values_;
  std::vector<GraphNode> nodes_;
  std::unordered_map<std::string, ValueId> names_;
  std::unordered_map<const TensorImpl*, ValueId> captured_;
  std::size_t next_name_ = 0;
  bool no_grad_ = false;
};

/// Calls f(id) for each value among a node's arguments, kNoValue left out.
template <class F>
void for_each_argument(const GraphNode& node, F&& f) {
  for (const NodeArgument& argument : node.arguments) {
    for (const ValueId id : argument.values) {
      if (id != kNoValue) f(id);
    }
  }
}

}  // namespace lamella::graph
