#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace lamella::graph {

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

/// Returns a function that computes the layer as a recorded operation with one node, which runs `forward` and, for the
/// gradients, `backward`: graphs of the same values as the layer's own, with its operators or others that do the same.
GraphFunction layer_function(const LayerGraphs& layer, const Graph& forward, const Graph& backward);

}  // namespace lamella::graph
