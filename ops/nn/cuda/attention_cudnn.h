#pragma once

#include "ops/nn/attention_tiles.h"

namespace lamella::cuda {

/// Compute attention without a mask on the current stream, for query [.., L, E], key [.., S, E] and value [.., S, Ev]
/// with as many leading axes, of which axis -3 of key and value may have a part of query's heads, each of which then
/// serves several that follow each other: `out`, and `totals`, float32 [.., L] without gaps, which are the natural
/// logarithms of the sums of exponentials of the scaled scores; and, from such a result, the gradients, which have the
/// shapes of query, key and value. Tensors of 16 bits may have their axes but the last in any order in memory.
///
/// Return false, with nothing computed, where cuDNN does not compute it, or does not yet: see Note [Attention by
/// cuDNN]. Whether it does may change from call to call; whatever computed a result, cuDNN may compute its gradients.
bool attention_forward_by_cudnn(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttentionSettings& settings, const Tensor& out, const Tensor& totals);
bool attention_backward_by_cudnn(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const AttentionResult& result, const Tensor& dout, const AttentionSettings& settings,
                                 const AttentionGradients& grads);

}  // namespace lamella::cuda
