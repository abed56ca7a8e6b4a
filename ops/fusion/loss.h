#pragma once

#include <optional>

#include "engine/graph/node.h"

namespace lamella::fusion {

/// Returns what computes a loss beside the gradient of its logits, from the logits, the targets and the gradient that
/// is known to come (undefined for ones); nothing if the node is no such loss: cross_entropy without weights, of one
/// number. See cross_entropy_foreseen().
std::optional<graph::GraphFunction> foreseen_loss(const graph::GraphNode& node);

}  // namespace lamella::fusion
