#include "engine/graph/describe.h"

namespace lamella::graph {

std::string describe(const GraphNode& node) {
  return "'" + node.name + "'" + (node.where.empty() ? "" : " (" + node.where + ")");
}

}  // namespace lamella::graph
