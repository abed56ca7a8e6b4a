#pragma once

#include "engine/graph/graph.h"

namespace lamella::graph {

/// Returns a function that computes the layer as a recorded operation with one node, which runs `forward` and, for the
/// gradients, `backward`: graphs of the same values as the layer's own, with its operators or others that do the same.
GraphFunction layer_function(const LayerGraphs& layer, const Graph& forward, const Graph& backward);

}  // namespace lamella::graph
