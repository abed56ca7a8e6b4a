#pragma once

#include <span>

#include "engine/autograd/graph/node.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Notes the results of a node's operation and those of its inputs that had left the tape. RuntimeError where
/// detect_anomaly checks results and one is not finite.
void note_call(Node& node, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs);

}  // namespace lamella::autograd
