#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lamella::drawing {

/// Box of a drawing; lay_out() finds the position of its middle.
struct Box {
  double width = 0;
  double height = 0;
  double x = 0;
  double y = 0;
};

/// Link from one box to another, which stands lower; lay_out() finds the points that the line goes through, from the
/// bottom of the upper box to the top of the lower one.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  std::vector<std::pair<double, double>> points;
};

struct LayeredDrawing {
  std::vector<Box> boxes;
  std::vector<Link> links;
  double width = 0;
  double height = 0;
};

/// Lays out a graph without cycles in layers from top to bottom, so that few lines cross: each box stands below all
/// that lead to it, lines bend around boxes, and boxes stand near the middle of their neighbors (the method of
/// Sugiyama, Tagawa and Toda, 1981, with barycenters). Fills the positions of `drawing`.
void lay_out(LayeredDrawing& drawing);

}  // namespace lamella::drawing
