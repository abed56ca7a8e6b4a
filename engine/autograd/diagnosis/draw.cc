#include "engine/autograd/diagnosis/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "engine/autograd/diagnosis/inspect.h"
#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/origin.h"
#include "engine/autograd/saved/context.h"
#include "engine/core/error.h"
#include "engine/drawing/svg.h"

namespace lamella::autograd {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Item {
  bool leaf = false;
  std::string title;
  /// Shapes of the operation's results; may be empty.
  std::string shapes;
  std::size_t saved = 0;
  /// Place of the call, "file:line"; may be empty.
  std::string place;
  /// Items of the inputs; kNone for inputs that are left out.
  std::vector<std::size_t> inputs;
};

struct Picture {
  std::vector<Item> items;
  std::vector<std::size_t> roots;
  std::size_t nodes_left_out = 0;
  std::size_t bytes_left_out = 0;
};

/// Shapes of the results of nodes that did not note them, learned from tensors at hand.
class KnownShapes {
 public:
  void learn(const Tensor& x) {
    if (!x.defined()) return;
    const AutogradMeta* meta = peek_meta(x);
    if (meta && meta->grad_fn) known_[meta->grad_fn.get()].try_emplace(meta->output_nr, x);
  }
  void learn(const Node& node) {
    for (const Tensor& x : saved_tensors(node)) learn(x);
  }
  std::string of(const Node& node) const {
    if (const auto* leaf = dynamic_cast<const AccumulateGrad*>(&node)) return text(TensorMeta(leaf->leaf()));
    if (const auto origin = origin_of(node); origin && !origin->outputs.empty()) return list(origin->outputs);
    if (const Context* context = node.context(); context && !context->output_metas.empty()) {
      return list(context->output_metas);
    }
    const auto found = known_.find(&node);
    if (found == known_.end()) return "";
    std::vector<TensorMeta> metas;
    for (const auto& [output, meta] : found->second) metas.push_back(meta);
    return list(metas);
  }

 private:
  static std::string text(const TensorMeta& meta) {
    return str(meta.dtype, meta.shape, meta.device.is_cpu() ? "" : str(" ", meta.device));
  }
  template <class Metas>
  static std::string list(const Metas& metas) {
    std::string all;
    for (const TensorMeta& meta : metas) all += (all.empty() ? "" : ", ") + text(meta);
    return all;
  }

  std::unordered_map<const Node*, std::map<std::uint32_t, TensorMeta>> known_;
};

std::string bytes_text(std::size_t bytes) {
  constexpr std::array<const char*, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return str(bytes, " B");
  auto size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return str(std::round(size * 10) / 10, " ", kUnits[unit]);
}

Picture take_picture(std::span<const Tensor> tensors, const std::vector<Edge>& roots, const DrawOptions& options) {
  Picture picture;
  KnownShapes shapes;
  for (const Tensor& x : tensors) shapes.learn(x);
  const std::vector<Node*> nodes = reachable_nodes(roots);
  for (const Node* node : nodes) shapes.learn(*node);
  std::unordered_map<const Node*, std::size_t> index;
  for (const Node* node : nodes) {
    if (index.size() == options.max_nodes) break;
    index.emplace(node, index.size());
  }
  const auto item_of = [&](const Node* node) {
    const auto found = index.find(node);
    return found == index.end() ? kNone : found->second;
  };
  SavedBytes saved;
  for (const Node* node : nodes) {
    const std::size_t bytes = saved.add(*node);
    if (item_of(node) == kNone) {
      ++picture.nodes_left_out;
      picture.bytes_left_out += bytes;
      continue;
    }
    Item item;
    item.title = node->name();
    item.shapes = shapes.of(*node);
    item.saved = bytes;
    if (const auto* leaf = dynamic_cast<const AccumulateGrad*>(node)) {
      item.leaf = true;
      const auto named =
          std::ranges::find_if(options.names, [&](const auto& name) { return name.first.same(leaf->leaf()); });
      item.title = named == options.names.end() ? "leaf" : named->second;
    } else if (const auto origin = origin_of(*node)) {
      item.place = short_place(*origin);
    }
    for (const Edge& edge : node->edges()) {
      if (edge) item.inputs.push_back(item_of(edge.node.get()));
    }
    picture.items.push_back(std::move(item));
  }
  for (const Edge& root : roots) {
    const std::size_t item = item_of(root.node.get());
    if (item != kNone && std::ranges::find(picture.roots, item) == picture.roots.end()) picture.roots.push_back(item);
  }
  return picture;
}

std::string left_out(const Picture& picture) {
  if (picture.nodes_left_out == 0) return "";
  return str(picture.nodes_left_out, picture.nodes_left_out == 1 ? " more node" : " more nodes", ", which ",
             picture.nodes_left_out == 1 ? "saves " : "save ", bytes_text(picture.bytes_left_out),
             ", left out: raise max_nodes to see them");
}

// Drawing as text

std::string line_of(const Item& item) {
  std::string text = item.leaf && item.title != "leaf" ? "leaf " + item.title : item.title;
  if (!item.shapes.empty()) text += "  " + item.shapes;
  if (item.saved) text += "  saves " + bytes_text(item.saved);
  if (!item.place.empty()) text += "  " + item.place;
  return text;
}

std::string as_text(const Picture& picture) {
  std::vector<std::size_t> uses(picture.items.size());
  for (const std::size_t root : picture.roots) ++uses[root];
  for (const Item& item : picture.items) {
    for (const std::size_t input : item.inputs) {
      if (input != kNone) ++uses[input];
    }
  }
  struct Line {
    std::size_t item;
    std::string first;  // prefix of the item's line
    std::string rest;   // prefix of the lines below it
  };
  std::vector<Line> stack;
  for (std::size_t i = picture.roots.size(); i-- > 0;) stack.push_back({picture.roots[i], "", ""});
  std::map<std::size_t, std::size_t> numbers;  // numbers of shared items, in the order of their first lines
  std::string text;
  while (!stack.empty()) {
    const Line line = std::move(stack.back());
    stack.pop_back();
    text += line.first;
    if (line.item == kNone) {
      text += "...\n";
      continue;
    }
    const Item& item = picture.items[line.item];
    if (const auto known = numbers.find(line.item); known != numbers.end()) {
      text += str("see #", known->second, "\n");
      continue;
    }
    if (uses[line.item] > 1) {
      const std::size_t number = numbers.size() + 1;
      numbers.emplace(line.item, number);
      text += str("#", number, " ");
    }
    text += line_of(item) + "\n";
    // Puts a single input at the same depth, so that long chains stay readable.
    if (item.inputs.size() == 1) {
      stack.push_back({item.inputs[0], line.rest, line.rest});
      continue;
    }
    for (std::size_t i = item.inputs.size(); i-- > 0;) {
      const bool last = i + 1 == item.inputs.size();
      stack.push_back({item.inputs[i], line.rest + (last ? "└─ " : "├─ "), line.rest + (last ? "   " : "│  ")});
    }
  }
  if (picture.nodes_left_out) text += "(" + left_out(picture) + ")\n";
  return text;
}

// Drawing as SVG

std::vector<std::string> labels(const Item& item) {
  std::vector<std::string> lines{drawing::shortened(item.title, drawing::Keep::Beginning)};
  if (!item.shapes.empty()) lines.push_back(drawing::shortened(item.shapes, drawing::Keep::Beginning));
  if (item.saved) lines.push_back("saves " + bytes_text(item.saved));
  if (!item.place.empty())
    lines.push_back(drawing::shortened(item.place.substr(item.place.rfind('/') + 1), drawing::Keep::End));
  return lines;
}

std::string as_svg(const Picture& picture) {
  drawing::Diagram diagram{.boxes = {}, .arrows = {}, .note = left_out(picture)};
  for (const Item& item : picture.items) {
    diagram.boxes.push_back({.lines = labels(item),
                             .hint = item.place.empty() ? item.title : item.title + ", called at " + item.place,
                             .look = item.leaf ? drawing::Look::Leaf : drawing::Look::Operation});
  }
  // Adds one box for the inputs of an item that are left out.
  for (std::size_t i = 0; i < picture.items.size(); ++i) {
    bool cut = false;
    for (const std::size_t input : picture.items[i].inputs) {
      if (input == kNone) {
        cut = true;
      } else {
        diagram.arrows.emplace_back(i, input);
      }
    }
    if (!cut) continue;
    diagram.arrows.emplace_back(i, diagram.boxes.size());
    diagram.boxes.push_back({.lines = {}, .hint = "", .look = drawing::Look::Rest});
  }
  return drawing::svg(diagram);
}

}  // namespace

std::string draw(std::span<const Tensor> tensors, const DrawOptions& options) {
  if (options.format != "svg" && options.format != "text") {
    fail<ValueError>("[draw] format: expected 'svg' or 'text', got '", options.format, "'");
  }
  if (options.max_nodes == 0) fail<ValueError>("[draw] max_nodes: expected at least 1, got 0");
  const std::vector<Edge> roots = root_edges(tensors);
  if (roots.empty()) {
    fail<ValueError>(
        "[draw] none of the tensors is on the tape: pass results of recorded operations (explain() tells why a tensor "
        "is off the tape)");
  }
  const Picture picture = take_picture(tensors, roots, options);
  return options.format == "svg" ? as_svg(picture) : as_text(picture);
}

}  // namespace lamella::autograd
