#pragma once

#include "engine/autograd/graph/node.h"

namespace lamella::autograd {

/// Makes the gradients that a once-differentiable backward returned come from a node that refuses to be differentiated.
/// It has edges to all that they were computed from: the layer's inputs and the gradients that came in.
void forbid_second_derivative(const Node& layer, const TensorList& incoming, TensorList& results);

}  // namespace lamella::autograd
