#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "engine/autograd/saved/context.h"

namespace lamella::autograd {

/// Numbers of arguments of a call.
using GradientTargets = SmallVector<std::size_t, 4>;

/// Returns the arguments that the gradients returned by a layer's backward are for, in the order of the gradients.
/// `given` tells for each entry whether it is a gradient, and not None.
///
/// Takes one gradient for each argument with tensors, or one for each argument. Any number of None may follow and has
/// no argument: the result is then shorter than `given`. Fewer gradients than arguments with tensors are for the first
/// of these. Returns nothing for any other number.
std::optional<GradientTargets> match_gradients(std::span<const ArgumentInfo> arguments, std::span<const bool> given);

}  // namespace lamella::autograd
