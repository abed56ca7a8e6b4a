#pragma once

#include <cstdint>
#include <string>

#include "engine/core/tensor.h"

namespace lamella {

// Views between complex and real tensors. A complex number in memory is its real part followed by its imaginary part,
// so a complex tensor can be viewed as a real one with twice the strides, and a real tensor of such pairs as a complex
// one. Recorded functions here are linear; their gradients are the inverse views.

/// Returns one part of a complex x, 0 for the real and 1 for the imaginary one, as a view off the tape.
Tensor part_view(const Tensor& x, std::int64_t part);

/// Returns one part of a complex x (0: real, 1: imaginary) as a view. Recorded.
Tensor part_of(const Tensor& x, std::int64_t part);
/// Returns the parts of a complex x along a new last axis of size 2, as a view. Recorded.
Tensor parts_of(const Tensor& x);
/// Returns the complex numbers whose parts lie along the last axis of x, of size 2, as a view; requires that
/// why_not_complex() is empty. Recorded.
Tensor pairs_of(const Tensor& x);
/// Returns the complex numbers whose parts lie along the last axis of x; of a copy if the memory of x cannot be viewed
/// as complex. Recorded.
Tensor joined_pairs(const Tensor& x);
/// Returns complex numbers with imaginary parts x and zero real parts. Recorded.
Tensor from_imaginary(const Tensor& x);

/// Returns the reason why x, with a last axis of size 2, cannot be viewed as complex numbers; empty if it can.
std::string why_not_complex(const Tensor& x);

}  // namespace lamella
