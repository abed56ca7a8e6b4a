#include "engine/autograd/diagnosis/inspect.h"

#include "engine/autograd/graph/origin.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/saved/context.h"

namespace lamella::autograd {
namespace {

template <class Nodes>
GraphStats count_nodes(const Nodes& nodes) {
  GraphStats stats;
  SavedBytes saved;
  for (const auto& node : nodes) {
    NodeCount& count = stats[node->name()];
    ++count.nodes;
    count.saved_bytes += saved.add(*node);
  }
  return stats;
}

}  // namespace

TensorList saved_tensors(const Node& node) {
  const Context* context = node.context();
  return context ? context->kept_tensors() : TensorList();
}

std::size_t SavedBytes::add(const Node& node) {
  std::size_t bytes = 0;
  for (const Tensor& x : saved_tensors(node)) {
    if (x.defined() && x->storage && seen_.insert(x->storage).second) bytes += x->storage->bytes;
  }
  return bytes;
}

std::vector<Edge> root_edges(std::span<const Tensor> tensors) {
  std::vector<Edge> roots;
  for (const Tensor& x : tensors) {
    if (!x.defined()) continue;
    if (Edge edge = gradient_edge(x)) roots.push_back(std::move(edge));
  }
  return roots;
}

std::vector<Node*> reachable_nodes(std::span<const Edge> roots) {
  std::vector<Node*> nodes;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Edge& edge) {
    if (edge && seen.insert(edge.node.get()).second) nodes.push_back(edge.node.get());
  };
  for (const Edge& edge : roots) visit(edge);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Edge& edge : nodes[i]->edges()) visit(edge);
  }
  return nodes;
}

GraphStats graph_stats(std::span<const Tensor> tensors) {
  const std::vector<Edge> roots = root_edges(tensors);
  return count_nodes(reachable_nodes(roots));
}

GraphStats live_stats() { return count_nodes(traced_nodes()); }

std::map<std::string, std::size_t> live_nodes() {
  std::map<std::string, std::size_t> counts;
  for (const auto& [name, count] : live_stats()) counts[name] = count.nodes;
  return counts;
}

std::map<std::string, std::size_t> saved_bytes() {
  std::map<std::string, std::size_t> bytes;
  for (const auto& [name, count] : live_stats()) bytes[name] = count.saved_bytes;
  return bytes;
}

}  // namespace lamella::autograd
