#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// True if cross_entropy_rows() takes logits on this device and of this dtype.
bool takes_cross_entropy_rows(const Tensor& x);

/// Returns the cross-entropy of each row of a matrix of logits, in one pass over them, as its gradient is another:
/// softmax is not kept. `numbers` has the class of each row, negative for a row that counts for nothing, whose term is
/// 0 and which is not read.
Tensor cross_entropy_rows(const Tensor& x, const Tensor& numbers, double smoothing);

}  // namespace lamella
