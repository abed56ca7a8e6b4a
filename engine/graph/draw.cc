#include "engine/graph/draw.h"

#include <algorithm>
#include <vector>

#include "engine/core/error.h"
#include "engine/drawing/svg.h"

namespace lamella::graph {
namespace {

using drawing::Diagram;
using drawing::Keep;
using drawing::Look;
using drawing::shortened;

constexpr std::size_t kNone = ~std::size_t{0};

std::string described(const GraphValue& value) { return value.name + " " + value.type.str(); }

/// Returns the name of an operator without the library's namespace, which most of them share.
std::string title_of(const GraphNode& node) {
  constexpr std::string_view kOwn = "lamella::";
  return node.name.starts_with(kOwn) ? node.name.substr(kOwn.size()) : node.name;
}

class Drawer {
 public:
  explicit Drawer(const Graph& graph) : graph_(graph), box_of_(graph.values().size(), kNone) {}

  void add(const GraphNode& node) {
    std::vector<std::size_t> sources;
    for_each_argument(node, [&](ValueId id) {
      const std::size_t box = source(id);
      if (std::ranges::find(sources, box) == sources.end()) sources.push_back(box);
    });
    const std::size_t here = diagram_.boxes.size();
    drawing::TextBox box{.lines = {shortened(title_of(node), Keep::Beginning)}, .hint = describe(node)};
    for (const ValueId id : node.results) {
      if (id == kNoValue) continue;
      box.lines.push_back(shortened(described(graph_.value(id)), Keep::Beginning));
      box_of_[id] = here;
    }
    if (!node.where.empty()) box.lines.push_back(shortened(node.where, Keep::End));
    diagram_.boxes.push_back(std::move(box));
    for (const std::size_t from : sources) diagram_.arrows.emplace_back(from, here);
  }

  std::string svg(std::size_t left_out) {
    if (left_out > 0)
      diagram_.note =
          str(left_out, left_out == 1 ? " more node" : " more nodes", " left out: raise max_nodes to see them");
    return drawing::svg(diagram_);
  }

 private:
  /// Returns the box that a value comes from, which is made for an input or a captured tensor that had none.
  std::size_t source(ValueId id) {
    if (box_of_[id] != kNone) return box_of_[id];
    const GraphValue& value = graph_.value(id);
    const char* const origin = value.origin == GraphValue::Origin::Captured ? "captured tensor " : "input ";
    diagram_.boxes.push_back({.lines = {shortened(value.name, Keep::Beginning), value.type.str()},
                              .hint = origin + described(value),
                              .look = Look::Leaf});
    return box_of_[id] = diagram_.boxes.size() - 1;
  }

  const Graph& graph_;
  Diagram diagram_;
  /// For each value the box that it comes from.
  std::vector<std::size_t> box_of_;
};

}  // namespace

std::string draw(const Graph& graph, std::size_t max_nodes) {
  if (max_nodes == 0) fail<ValueError>("[draw] max_nodes: expected at least 1, got 0");
  Drawer drawer(graph);
  const std::size_t count = std::min(max_nodes, graph.nodes().size());
  for (std::size_t i = 0; i < count; ++i) drawer.add(graph.nodes()[i]);
  return drawer.svg(graph.nodes().size() - count);
}

}  // namespace lamella::graph
