#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Count of the nodes of one operation or layer, and of the memory that they hold.
struct NodeCount {
  std::size_t nodes = 0;
  /// Bytes that the nodes save for backward; memory that several nodes save is counted for the first of them.
  std::size_t saved_bytes = 0;
};

/// Counts by the name of the operation or layer.
using GraphStats = std::map<std::string, NodeCount>;

/// Counts the nodes of the graph that the tensors were computed by, and the bytes that they save. Tensors that are off
/// the tape add nothing. Makes the nodes that views look for after a write in place.
GraphStats graph_stats(std::span<const Tensor> tensors);

/// Counts, over all threads, the nodes that were made under trace() and live. The newest node of another thread that
/// records at this moment may be missing.
GraphStats live_stats();
/// Returns the counts of live_stats() as one number for each name.
std::map<std::string, std::size_t> live_nodes();
std::map<std::string, std::size_t> saved_bytes();

/// Adds up what nodes save, each piece of memory once.
class SavedBytes {
 public:
  /// Returns the bytes that the node saves in memory that was not counted yet.
  std::size_t add(const Node& node);

 private:
  std::unordered_set<const Storage*> seen_;
};

/// Returns the tensors that a node saves for backward, as they are kept; empty once the graph was freed.
TensorList saved_tensors(const Node& node);

/// Returns the nodes that the tensors were computed by, each once, breadth first from the tensors. They live as long as
/// the roots do.
std::vector<Node*> reachable_nodes(std::span<const Edge> roots);
/// Returns the tensors' edges, without empty ones.
std::vector<Edge> root_edges(std::span<const Tensor> tensors);

}  // namespace lamella::autograd
