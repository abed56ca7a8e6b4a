#pragma once

#include <cstdint>
#include <string>

#include "engine/core/tensor.h"

namespace lamella {

// A complex number lies in memory as its real part and, behind it, its imaginary part. So complex tensors can be seen
// as real ones of twice the strides, and real ones whose numbers lie in such pairs as complex ones. What is recorded
// here is linear, and differentiates into its like.

/// One part, 0 for the real and 1 for the imaginary one, of a complex x: a view off the tape.
Tensor part_view(const Tensor& x, std::int64_t part);

/// One part of a complex x, as above: a view. Recorded.
Tensor part_of(const Tensor& x, std::int64_t part);
/// The parts of a complex x along a new last axis of size 2: a view. Recorded.
Tensor parts_of(const Tensor& x);
/// The complex numbers whose parts lie along the last axis of x, which has size 2: a view, where why_not_complex() says
/// nothing. Recorded.
Tensor pairs_of(const Tensor& x);
/// The same; of a copy where the memory of x cannot be seen so. Recorded.
Tensor joined_pairs(const Tensor& x);
/// The complex numbers with the imaginary parts x, and real parts of 0. Recorded.
Tensor from_imaginary(const Tensor& x);

/// What forbids to see the memory of x, whose last axis has size 2, as complex numbers; empty where nothing does.
std::string why_not_complex(const Tensor& x);

}  // namespace lamella
