#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lamella::drawing {

enum class Look : std::uint8_t {
  Operation,
  /// A tensor that nothing in the diagram computes.
  Leaf,
  /// Stands for boxes that are left out; has no text.
  Rest,
};

/// A box of text.
struct TextBox {
  /// The first line is the title.
  std::vector<std::string> lines;
  /// Shown where the pointer rests on the box.
  std::string hint;
  Look look = Look::Operation;
};

/// Boxes, arrows from one to another (by position), and a line below them all, which may be empty.
struct Diagram {
  std::vector<TextBox> boxes;
  std::vector<std::pair<std::size_t, std::size_t>> arrows;
  std::string note;
};

/// Returns the diagram as the text of an SVG, laid out from top to bottom. There is no cycle among the arrows.
std::string svg(const Diagram& diagram);

/// The part of a text that stays where it is too long.
enum class Keep : std::uint8_t { Beginning, End };
/// Returns a text that fits into a box, with an ellipsis for what is left out.
std::string shortened(const std::string& text, Keep keep);

}  // namespace lamella::drawing
