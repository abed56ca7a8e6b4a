#pragma once

#include "ops/nn/cuda/attention_cudnn_graph.h"

namespace lamella::cuda {

/// Compute attention without a mask on the current stream: `out`, and `totals`, float32 [.., L] without gaps, which are
/// the natural logarithms of the sums of exponentials of the scaled scores; and, from both, the gradients, which have
/// the shapes of query, key and value. Tensors of 16 bits may have their axes but the last in any order in memory.
///
/// Return false, with nothing computed, where cuDNN does not compute it, or does not yet: see Note [Attention by
/// cuDNN]. Whether it does may change from call to call; the results of one serve the gradients of the other.
bool attention_forward_by_cudnn(const AttentionOperands& operands, const AttentionSettings& settings,
                                const Tensor& totals);
bool attention_backward_by_cudnn(const AttentionOperands& operands, const AttentionSettings& settings,
                                 const Tensor& totals, const Tensor& dout, const AttentionGradients& grads);

}  // namespace lamella::cuda
