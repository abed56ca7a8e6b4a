#include "engine/drawing/svg.h"

#include <algorithm>
#include <cmath>

#include "engine/core/error.h"
#include "engine/drawing/layered.h"

namespace lamella::drawing {
namespace {

constexpr std::size_t kMaxText = 48;
constexpr double kCharWidth = 7.3;
constexpr double kLineHeight = 16;
constexpr double kPadding = 8;

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

/// Returns the size of a box.
Box box_of(const TextBox& box) {
  if (box.look == Look::Rest) return {.width = 3 * kCharWidth, .height = kLineHeight};
  std::size_t widest = 0;
  for (const std::string& line : box.lines) widest = std::max(widest, characters(line));
  return {.width = kCharWidth * static_cast<double>(widest) + 2 * kPadding,
          .height = kLineHeight * static_cast<double>(box.lines.size()) + kPadding};
}

std::string drawn(const TextBox& text, const Box& box) {
  if (text.look == Look::Rest) {
    return str("<text x=\"", number(box.x), "\" y=\"", number(box.y + 4), "\" text-anchor=\"middle\">…</text>\n");
  }
  std::string svg =
      str("<g><title>", escaped(text.hint), "</title><rect x=\"", number(box.x - box.width / 2), "\" y=\"",
          number(box.y - box.height / 2), "\" width=\"", number(box.width), "\" height=\"", number(box.height),
          "\" rx=\"5\" fill=\"", text.look == Look::Leaf ? "#e2f2dd" : "#e8eefa", "\" stroke=\"#555\"/>\n");
  for (std::size_t k = 0; k < text.lines.size(); ++k) {
    const double y = box.y - box.height / 2 + kLineHeight * static_cast<double>(k + 1);
    svg += str("<text x=\"", number(box.x), "\" y=\"", number(y), "\" text-anchor=\"middle\"",
               k ? " fill=\"#444\"" : " font-weight=\"bold\"", ">", escaped(text.lines[k]), "</text>\n");
  }
  return svg + "</g>\n";
}

}  // namespace

std::string svg(const Diagram& diagram) {
  LayeredDrawing drawing;
  for (const TextBox& box : diagram.boxes) drawing.boxes.push_back(box_of(box));
  for (const auto& [from, to] : diagram.arrows) drawing.links.push_back({.from = from, .to = to, .points = {}});
  lay_out(drawing);
  const std::string& note = diagram.note;
  const double width = std::max(drawing.width, 2 * kPadding + kCharWidth * static_cast<double>(characters(note)));
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
  for (std::size_t i = 0; i < diagram.boxes.size(); ++i) svg += drawn(diagram.boxes[i], drawing.boxes[i]);
  if (!note.empty()) {
    svg += str("<text x=\"", number(kPadding), "\" y=\"", number(height - kPadding), "\" fill=\"#a00\">", escaped(note),
               "</text>\n");
  }
  return svg + "</svg>\n";
}

std::string shortened(const std::string& text, Keep keep) {
  const std::size_t length = characters(text);
  if (length <= kMaxText) return text;
  if (keep == Keep::End) return "…" + text.substr(offset_of(text, length - kMaxText + 1));
  return text.substr(0, offset_of(text, kMaxText - 1)) + "…";
}

}  // namespace lamella::drawing
