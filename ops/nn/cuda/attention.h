#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/core/dtype.h"
#include "ops/nn/cuda/attention_problem.h"

namespace lamella::cuda {

inline constexpr const char* kAttentionName = "scaled_dot_product_attention";

/// The longest rows that the kernels take, and those of 16 bits: longer ones are computed in float32.
inline constexpr std::int64_t kMostAttentionWidth = 256;
inline constexpr std::int64_t kMostHalfAttentionWidth = 128;

/// Contiguous tensors of what forward gives and backward takes, in their matrices' order: the results, and for each
/// query two numbers, which AttentionTotals describes.
struct AttentionOutputs {
  void* out;
  float* totals;
};

/// The contiguous gradients.
struct AttentionSlopes {
  void* query;
  void* key;
  void* value;
};

/// Start the kernels for rows of a dtype, float32 or of 16 bits, and `matrices` > 0 matrices.
void run_attention(const AttentionProblem& problem, DType dtype, std::int64_t matrices, const AttentionOutputs& outputs,
                   cudaStream_t stream);
/// `delta` is room for a number for each query.
void run_attention_gradient(const AttentionProblem& problem, const AttentionRows& dout, DType dtype,
                            std::int64_t matrices, const AttentionOutputs& outputs, float* delta,
                            const AttentionSlopes& slopes, cudaStream_t stream);

}  // namespace lamella::cuda
