#pragma once

#include <utility>
#include <vector>

#include "engine/graph/executor.h"
#include "engine/registry/value.h"

// The parts of an executor that the files share which run its steps.

namespace lamella::graph {

/// A node in the order of a run.
struct Executor::Step {
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
struct Executor::State {
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
