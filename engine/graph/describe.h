#pragma once

#include <string>

#include "engine/graph/graph.h"

namespace lamella::graph {

/// Returns the node's name for messages: "'lamella::matmul' (train.py:12)".
std::string describe(const GraphNode& node);

}  // namespace lamella::graph
