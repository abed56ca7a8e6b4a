#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"

namespace lamella::autograd {

struct DrawOptions {
  /// Format of the drawing, "svg" or "text".
  std::string format = "svg";
  /// Names of leaves (of parameters, say).
  std::vector<std::pair<Tensor, std::string>> names;
  /// Number of nodes, counted from the tensors on, beyond which nodes are left out; the drawing says how many.
  std::size_t max_nodes = 200;
};

/// Draws the graph that the tensors were computed by: for each operation its name, the shapes of its results, the bytes
/// it saves for backward, and the line of its call. Shapes are those that the graph knows; all of them, and lines,
/// where the computation ran under Trace. ValueError for another format, or where no tensor is on the tape.
///
/// As text, each operation stands above its inputs, and one that several share is written out once.
std::string draw(std::span<const Tensor> tensors, const DrawOptions& options = {});

}  // namespace lamella::autograd
