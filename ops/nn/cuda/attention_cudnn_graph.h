#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/runtime/cuda/cudnn.h"
#include "ops/nn/attention_tiles.h"

namespace lamella::cuda {

/// Tensors of attention with as many leading axes: query and out [.., L, E], key and value [.., S, E], whose axis -3
/// may have a part of query's heads, each of which then serves several that follow each other.
struct CudnnAttentionOperands {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor out;
};

/// Sizes and strides of a tensor of attention: of batch, head, position and element.
struct CudnnAxes {
  std::array<std::int64_t, 4> sizes;
  std::array<std::int64_t, 4> strides;
};

/// A problem for cuDNN: the operands and the kind of attention.
struct CudnnAttention {
  DType dtype;
  bool causal;
  bool deterministic;
  CudnnAxes query, key, value, out;
  CudnnAxes dout, dquery, dkey, dvalue;  ///< in backward problems
};

/// Returns a problem for such tensors, or nothing where cuDNN is known not to take it. Those of the gradients are given
/// together, or none of them.
std::optional<CudnnAttention> cudnn_attention(const CudnnAttentionOperands& operands, const AttentionSettings& settings,
                                              const Tensor& dout = {}, const AttentionGradients& grads = {});

/// Names of the tensors in memory and of the host's numbers.
enum class CudnnAttentionId : std::int64_t {
  Query = 1,
  Key,
  Value,
  Out,
  Totals,  ///< float32 [batch, head, L], as are the sums
  Scale,   ///< of the scores
  Hidden,  ///< score of a key that is not seen, in causal problems: minus infinity
  Dout,
  Dquery,
  Dkey,
  Dvalue,
  Sums,      ///< room for the sums of out * dout
  Products,  ///< room for the query's gradient in float32, unless the problem is deterministic
  One,       ///< 1
};

/// Return cuDNN's descriptors of attention and of its gradients, all finalized. Throw RuntimeError if cuDNN does not
/// take one of them.
cudnn::GraphParts describe_attention(const CudnnAttention& problem, const char* op);
cudnn::GraphParts describe_attention_gradients(const CudnnAttention& problem, const char* op);

}  // namespace lamella::cuda
