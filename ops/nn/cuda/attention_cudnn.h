#pragma once

#include <array>
#include <optional>

#include "engine/runtime/cuda/cudnn.h"
#include "ops/nn/attention_tiles.h"

namespace lamella::cuda {

/// Tensors of attention with as many leading axes: query and out [.., L, E], key and value [.., S, E], whose axis -3
/// may have a part of query's heads, each of which then serves several that follow each other.
struct AttentionOperands {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor out;
};

/// Compute attention without a mask on the current stream: `out`, whose memory may be laid out in any order of axes but
/// the last, and `totals`, float32 [.., L] without gaps, which are the natural logarithms of the sums of exponentials
/// of the scaled scores. The gradients, of the same shapes as the tensors, may be laid out in any such order, too.
///
/// Return false, with nothing computed, where cuDNN does not compute it: see Note [Attention by cuDNN]. `dout` is laid
/// out like `out`, or in any order of axes but the last.
bool attention_forward_by_cudnn(const AttentionOperands& operands, const AttentionSettings& settings,
                                const Tensor& totals);
bool attention_backward_by_cudnn(const AttentionOperands& operands, const AttentionSettings& settings,
                                 const Tensor& totals, const Tensor& dout, const AttentionGradients& grads);

/// Sizes and strides of a tensor of attention: of batch, head, position and element.
struct AttentionAxes {
  std::array<std::int64_t, 4> sizes;
  std::array<std::int64_t, 4> strides;
};

/// What cuDNN is asked for.
struct AttentionProblem {
  DType dtype;
  bool causal;
  bool deterministic;
  AttentionAxes query, key, value, out;
  AttentionAxes dout, dquery, dkey, dvalue;  ///< in backward problems
};

/// Returns a problem for such tensors, or nothing where cuDNN is known not to take it. Those of the gradients are given
/// together, or none of them.
std::optional<AttentionProblem> attention_problem(const AttentionOperands& operands, const AttentionSettings& settings,
                                                  const Tensor& dout = {}, const AttentionGradients& grads = {});

/// Return cuDNN's descriptors of attention and of its gradients, all finalized. Throw RuntimeError if cuDNN does not
/// take one of them.
cudnn::GraphParts describe_attention(const AttentionProblem& problem, const char* op);
cudnn::GraphParts describe_attention_gradients(const AttentionProblem& problem, const char* op);

}  // namespace lamella::cuda
