#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Returns the largest magnitude of x along the axes, which are kept with size 1, and 1 where that is 0, infinite or no
/// number: a divisor after which no power of x is beyond the range. For formulas whose result does not depend on it, as
/// it is a constant to every derivative.
Tensor largest_or_one(const Tensor& x, const Dims& axes);

/// Returns largest_or_one() where products of a few powers of x, or of `least` in place of what is smaller, may be
/// beyond the range of numbers, and 1 elsewhere; an undefined tensor if that is 1 everywhere, which is looked up on the
/// CPU only.
Tensor divisor_into_range(const Tensor& x, const Dims& axes, double least);

/// Returns for each matrix the power of two below the magnitude of its largest element, or 1 if all are 0; not
/// recorded. Shape [.., 1, 1], or [] if there are no elements.
Tensor power_of_two_near(const Tensor& x);

}  // namespace lamella
