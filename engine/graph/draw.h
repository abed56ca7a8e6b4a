#pragma once

#include <cstddef>
#include <string>

#include "engine/graph/graph.h"

namespace lamella::graph {

/// Draws a graph as the text of an SVG: each node with its name, what it computes and the line of the program that made
/// it, below the inputs and captured tensors that it reads. Of more than `max_nodes` nodes, the first ones are drawn,
/// and how many are left out is told. ValueError if `max_nodes` is 0.
std::string draw(const Graph& graph, std::size_t max_nodes = 200);

}  // namespace lamella::graph
