#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/core/tensor.h"
#include "engine/graph/node.h"
#include "engine/registry/handle.h"

/// Programs: operators that are recorded once and run often.
namespace lamella::graph {

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
  /// Adds a call of a layer, of the graphs that it has in place of a function.
  const GraphNode& add_layer(std::shared_ptr<const LayerGraphs> layer, GraphFunction function,
                             std::vector<ValueId> inputs, ValueType result, std::string where);
  /// Adds the gradients of targets with respect to inputs; the results of inputs that no target depends on are
  /// kNoValue. `begin` is empty, or has the gradient to begin with for each target, kNoValue for ones.
  const GraphNode& add_gradients(std::vector<ValueId> targets, std::vector<ValueId> inputs, std::vector<ValueId> begin,
                                 std::string where);
  /// Says of the node that was added last that it writes to what its schema does not tell.
  void mark_effects() { nodes_.back().effects = true; }
  /// Says of the node that was added last that every run needs it.
  void mark_required() { nodes_.back().required = true; }
  /// Says of the function that was added last that it computes gradients.
  void mark_pass(BackwardPass pass) { nodes_.back().pass = std::move(pass); }
  /// Says of the function that was added last that it may change places with operators.
  void mark_commuting() { nodes_.back().commutes = true; }
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

  /// Returns a graph of the nodes that the fetches need, with the same ids of values; among them are operators that
  /// write into memory which may be read after them, but no other effects.
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

  /// Returns this graph for values of any size, of the same numbers of axes.
  Graph of_any_size() const;
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

/// A layer with one result whose forward and backward are graphs of operators.
struct LayerGraphs {
  std::string name;
  /// Computes the result from one input for each tensor of the call.
  Graph forward;
  std::vector<ValueId> inputs;
  ValueId result = kNoValue;
  /// Values that backward reads.
  std::vector<ValueId> saved;
  /// Computes the gradients from inputs that stand for the saved values, and for the gradient of the result.
  Graph backward;
  std::vector<ValueId> backward_saved;
  ValueId gradient = kNoValue;
  /// The gradient of each input, kNoValue for None.
  std::vector<ValueId> gradients;
};

}  // namespace lamella::graph
