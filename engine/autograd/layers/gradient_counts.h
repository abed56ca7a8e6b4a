#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "engine/autograd/saved/context.h"

namespace lamella::autograd {

/// Arguments of a call, by their numbers.
using GradientTargets = SmallVector<std::size_t, 4>;

/// The arguments that the gradients returned by a layer's backward are for, in the order of the gradients. `given`
/// tells for each gradient whether it is one, and not None.
///
/// One gradient for each argument with tensors, or one for each argument; any number of None may follow, and has no
/// argument then: the result is shorter than `given`. Fewer than there are arguments with tensors are for the first of
/// these. Nothing where the number is another.
std::optional<GradientTargets> match_gradients(std::span<const ArgumentInfo> arguments, std::span<const bool> given);

}  // namespace lamella::autograd
