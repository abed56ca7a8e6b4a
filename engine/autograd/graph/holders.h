#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

// Tensors on the tape whose memory other tensors show: see Note [Aliases off the tape] in
// engine/autograd/recording/aliases.h.

namespace lamella::autograd {

/// Place of a tensor on the tape: none, that of a leaf that wants a gradient, or that of an operation's result.
enum class Holding : std::uint8_t { Nothing, Leaf, Result };
Holding holding_of(const TensorImpl& x) noexcept;

/// Returns the tensor from whose place on the tape x's follows: a tracked view's base, or x itself.
inline TensorImpl* root_of(const Tensor& x) noexcept { return x->flags & TensorImpl::kTracked ? x->base : x.impl(); }

/// Lists x's holder where it is on the tape, as an alias of it left the tape.
void note_holder(const Tensor& x);

}  // namespace lamella::autograd
