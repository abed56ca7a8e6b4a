#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

// Tensors on the tape whose memory others show: see Note [Aliases off the tape] in engine/autograd/recording/aliases.h.

namespace lamella::autograd {

/// What a tensor is to the tape.
enum class Holding : std::uint8_t { Nothing, Leaf, Result };
Holding holding_of(const TensorImpl& x) noexcept;

/// The tensor that x's place on the tape is that of: a tracked view's base, or x itself.
inline TensorImpl* root_of(const Tensor& x) noexcept { return x->flags & TensorImpl::kTracked ? x->base : x.impl(); }

/// Lists x's holder where it is on the tape: an alias of it left the tape.
void note_holder(const Tensor& x);

}  // namespace lamella::autograd
