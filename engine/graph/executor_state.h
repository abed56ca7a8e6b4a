#pragma once

#include <utility>
#include <vector>

#include "engine/core/tensor.h"
#include "engine/graph/node.h"
#include "engine/registry/value.h"

namespace lamella::graph {

/// A node in the order of a run.
struct ExecutorStep {
  const GraphNode* node;
  /// Values that no later step needs.
  std::vector<ValueId> last_uses;
  /// True if the node changes more than its results.
  bool changes = false;
  /// True if a gradients node keeps the tape for a later one.
  bool retain_graph = false;
  /// True if a gradients node records its pass for a later one.
  bool create_graph = false;
};

/// The values of one run. Arguments are views of them, made once.
struct ExecutorState {
  struct Call {
    std::vector<registry::Arg> args;
    std::vector<registry::Value> results;
    /// Lists of tensors among the arguments: position, and the tensors that are set before each call.
    std::vector<std::pair<std::size_t, std::vector<Tensor>>> lists;
  };

  std::vector<Tensor> slots;
  std::vector<Call> calls;
};

}  // namespace lamella::graph
