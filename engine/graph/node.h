#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "engine/core/tensor.h"
#include "engine/registry/handle.h"
#include "engine/registry/value.h"

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

struct LayerGraphs;

/// Says of a function that it computes gradients, in one pass that begins with some of its tensors. All are positions
/// among them.
struct BackwardPass {
  std::vector<std::size_t> targets;
  /// The gradient that the pass begins with, for each target; nothing for ones.
  std::vector<std::optional<std::size_t>> seeds;
  /// True if all that the pass does is to add the gradients of leaves to their `grad`, and to free the tape.
  bool accumulates = false;
};

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
  /// The graphs of a layer that the function computes; null for other functions.
  std::shared_ptr<const LayerGraphs> layer = nullptr;
  std::optional<BackwardPass> pass = {};
  std::vector<NodeArgument> arguments;
  /// The results in order, those of a list one after another; kNoValue for None.
  std::vector<ValueId> results;
  /// For each of an operator's results: number of tensors in a list, or -1 for a single tensor.
  std::vector<std::int64_t> list_sizes;
  /// True if the node does more than compute its results.
  bool effects = false;
  /// True if the node runs even where nobody needs its results, as it may end a run that is not to go on.
  bool required = false;
  /// True for a function of the host language, of which nothing is known.
  bool host_code = false;
  /// True for a function that neither reads nor changes elements and places on the tape, so that it may change places
  /// with operators.
  bool commutes = false;
  /// True if the node runs with recording off.
  bool no_grad = false;
  /// Line of the program that made the node: "train.py:12".
  std::string where;
};

/// Returns the node's name for messages: "'lamella::matmul' (train.py:12)".
std::string describe(const GraphNode& node);
/// True if a node draws random numbers.
bool draws(const GraphNode& node);

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
