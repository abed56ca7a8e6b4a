#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// The settings of a call of attention. Which elements are dropped depends on the seed, the offset and their position.
struct AttentionSettings {
  double scale = 1;
  bool causal = false;
  double dropout = 0;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// The results of the forward pass: the output, [.., L, Ev], and for each query, [.., L, 2], the largest score and the
/// logarithm of the sum of exponentials of the scores less that one: of their sum, large scores would keep the first.
/// The device decides on their unit, and on their dtype.
struct AttentionResult {
  Tensor out;
  Tensor totals;
};

struct AttentionGradients {
  Tensor query;
  Tensor key;
  Tensor value;
};

/// True if the tensors' device computes attention by tiles for their dtype and sizes; the CPU does for float32 and
/// float64.
bool has_attention(const Tensor& query, const Tensor& value);
/// Compute attention by tiles on a device for which has_attention() says so, off the tape: query [.., L, E], key [..,
/// S, E] and value [.., S, Ev] with equal leading axes; `mask` is undefined, or bool or of their dtype, and broadcasts
/// to [.., L, S].
AttentionResult attention_forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                  const AttentionSettings& settings);
AttentionGradients attention_backward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                      const AttentionResult& result, const Tensor& dout,
                                      const AttentionSettings& settings);

/// Returns the dropout factors of the softmax's elements, [.., L, S]: 0 for dropped ones, 1 / (1 - p) for the others.
Tensor attention_dropout(const Dims& shape, DType dtype, Device device, const AttentionSettings& settings);

}  // namespace lamella
