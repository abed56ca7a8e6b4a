#pragma once

#include "engine/autograd/graph/node.h"

namespace lamella::autograd {

/// Ties the gradients that a once-differentiable backward returned to a node that refuses to be differentiated, in the
/// place of everything they were computed from: the layer's inputs and the gradients that came in.
void forbid_second_derivative(const Node& layer, const TensorList& incoming, TensorList& results);

}  // namespace lamella::autograd
