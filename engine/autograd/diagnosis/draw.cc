#include "engine/autograd/diagnosis/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "engine/autograd/diagnosis/inspect.h"
#include "engine/autograd/diagnosis/layered.h"
#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/origin.h"
#include "engine/autograd/saved/context.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

constexpr std::size_t kMaxText = 48;
constexpr double kCharWidth = 7.3;
constexpr double kLineHeight = 16;
constexpr double kPadding = 8;

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

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;  // XML has no control characters
    }
  }
  return result;
}

/// True if a character of UTF-8 begins here.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

/// Returns the offset at which the n-th character of a text begins, counted from 0.
std::size_t offset_of(const std::string& text, std::size_t n) {
  std::size_t at = 0;
  while (at < text.size() && (!begins_character(text[at]) || n-- > 0)) ++at;
  return at;
}

/// Cuts the end of a text that is too long, or the beginning, where its end is to be kept: that of a path.
std::string shortened(const std::string& text, bool keep_end) {
  const std::size_t length = characters(text);
  if (length <= kMaxText) return text;
  if (keep_end) return "…" + text.substr(offset_of(text, length - kMaxText + 1));
  return text.substr(0, offset_of(text, kMaxText - 1)) + "…";
}

std::vector<std::string> labels(const Item& item) {
  std::vector<std::string> lines{shortened(item.title, false)};
  if (!item.shapes.empty()) lines.push_back(shortened(item.shapes, false));
  if (item.saved) lines.push_back("saves " + bytes_text(item.saved));
  if (!item.place.empty()) lines.push_back(shortened(item.place.substr(item.place.rfind('/') + 1), true));
  return lines;
}

std::string number(double value) { return str(std::round(value * 10) / 10); }

std::string curve(const Link& link) {
  std::string path = "M" + number(link.points[0].first) + " " + number(link.points[0].second);
  for (std::size_t i = 1; i < link.points.size(); ++i) {
    const auto [x0, y0] = link.points[i - 1];
    const auto [x1, y1] = link.points[i];
    const double middle = (y0 + y1) / 2;
    path += str(" C", number(x0), " ", number(middle), " ", number(x1), " ", number(middle), " ", number(x1), " ",
                number(y1));
  }
  return path;
}

std::string as_svg(const Picture& picture) {
  LayeredDrawing drawing;
  std::vector<std::vector<std::string>> texts;
  for (const Item& item : picture.items) {
    texts.push_back(labels(item));
    std::size_t widest = 0;
    for (const std::string& line : texts.back()) widest = std::max(widest, characters(line));
    drawing.boxes.push_back({.width = kCharWidth * static_cast<double>(widest) + 2 * kPadding,
                             .height = kLineHeight * static_cast<double>(texts.back().size()) + kPadding});
  }
  // Adds one box for the inputs of an item that are left out.
  const std::size_t boxes = drawing.boxes.size();
  for (std::size_t i = 0; i < boxes; ++i) {
    bool cut = false;
    for (const std::size_t input : picture.items[i].inputs) {
      if (input == kNone) {
        cut = true;
      } else {
        drawing.links.push_back({.from = i, .to = input, .points = {}});
      }
    }
    if (!cut) continue;
    drawing.links.push_back({.from = i, .to = drawing.boxes.size(), .points = {}});
    drawing.boxes.push_back({.width = 3 * kCharWidth, .height = kLineHeight});
  }
  lay_out(drawing);

  const std::string note = left_out(picture);
  const double width = std::max(drawing.width, 2 * kPadding + kCharWidth * static_cast<double>(note.size()));
  const double height = drawing.height + (note.empty() ? 0 : kLineHeight + kPadding);
  std::string svg =
      str("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", number(width), "\" height=\"", number(height),
          "\" viewBox=\"0 0 ", number(width), " ", number(height), "\" font-family=\"monospace\" font-size=\"12\">\n",
          "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
          "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n",
          "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  for (const Link& link : drawing.links) {
    svg += "<path d=\"" + curve(link) + "\" fill=\"none\" stroke=\"#555\" marker-end=\"url(#tip)\"/>\n";
  }
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    const Box& box = drawing.boxes[i];
    if (i >= boxes) {
      svg += str("<text x=\"", number(box.x), "\" y=\"", number(box.y + 4), "\" text-anchor=\"middle\">…</text>\n");
      continue;
    }
    const Item& item = picture.items[i];
    svg += str("<g><title>", escaped(item.place.empty() ? item.title : item.title + ", called at " + item.place),
               "</title><rect x=\"", number(box.x - box.width / 2), "\" y=\"", number(box.y - box.height / 2),
               "\" width=\"", number(box.width), "\" height=\"", number(box.height), "\" rx=\"5\" fill=\"",
               item.leaf ? "#e2f2dd" : "#e8eefa", "\" stroke=\"#555\"/>\n");
    for (std::size_t k = 0; k < texts[i].size(); ++k) {
      const double y = box.y - box.height / 2 + kLineHeight * static_cast<double>(k + 1);
      svg += str("<text x=\"", number(box.x), "\" y=\"", number(y), "\" text-anchor=\"middle\"",
                 k ? " fill=\"#444\"" : " font-weight=\"bold\"", ">", escaped(texts[i][k]), "</text>\n");
    }
    svg += "</g>\n";
  }
  if (!note.empty()) {
    svg += str("<text x=\"", number(kPadding), "\" y=\"", number(height - kPadding), "\" fill=\"#a00\">", escaped(note),
               "</text>\n");
  }
  return svg + "</svg>\n";
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
