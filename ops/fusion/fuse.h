#pragma once

#include <span>

#include "engine/graph/graph.h"

namespace lamella::fusion {

/// Returns the graph with its elementwise operators joined to fused programs where that is possible; the values keep
/// their ids. Of the values within a program, those that the fetches or other nodes read are computed. Results keep
/// their bits, and gradients are the same to the rounding of their sums. With `callers_tape`, gradients may flow back
/// through everything after the run.
graph::Graph fuse(const graph::Graph& graph, std::span<const graph::ValueId> fetches, bool callers_tape = false);

}  // namespace lamella::fusion
