#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// True if cross_entropy_rows() takes logits on this device and of this dtype.
bool takes_cross_entropy_rows(const Tensor& x);

/// Returns the cross-entropy of each row of a matrix of logits, in one pass over them, as its gradient is another:
/// softmax is not kept. `numbers` has the class of each row, negative for a row that counts for nothing, whose term is
/// 0 and which is not read.
Tensor cross_entropy_rows(const Tensor& x, const Tensor& numbers, double smoothing);

/// The reduction of the terms of cross_entropy_rows(): their sum divided by a number.
struct TermsReduction {
  double divisor = 1;
  /// True if that is the number of all terms.
  bool mean = false;

  Tensor of(const Tensor& terms) const;
};

/// Returns the reduced terms of rows on the CPU, at least one, for a backward pass that is expected to give the result
/// the gradient `seed`: that of x is computed for it while the rows are in the caches, so that memory is read once, and
/// is there when just that comes. Other gradients are computed as those of cross_entropy_rows() are.
Tensor cross_entropy_with_gradient(const Tensor& x, const Tensor& numbers, double smoothing,
                                   const TermsReduction& reduction, double seed);

}  // namespace lamella
