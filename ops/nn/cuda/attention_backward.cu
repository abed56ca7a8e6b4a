#include "ops/nn/cuda/attention_backward.h"

#include "ops/nn/cuda/attention_launch.h"

namespace lamella::cuda {
namespace {

// Of rows of 256 numbers the results of keys and values exceed the registers: each has a kernel of its own.
template <class S, int kWidth, AttentionGradient kGradient>
struct GradientTiling : AttentionGradientTiling<S, kGradient, kWidth, kWidth == 64 ? 64 : 32, 4, 1, kWidth == 64> {};
template <int kWidth, AttentionGradient kGradient>
struct GradientTiling<float, kWidth, kGradient>
    : AttentionGradientTiling<float, kGradient, kWidth, kWidth == 64 ? 32 : 16, kWidth == 256 ? 2 : 4, 1, false> {};
template <AttentionGradient kGradient>
struct GradientTiling<float, 256, kGradient> : AttentionGradientTiling<float, kGradient, 256, 8, 2, 1, false> {};

/// Writes the sums of products of each query's result and its gradient, by a warp each.
template <class S>
__global__ void __launch_bounds__(256) attention_delta_kernel(const AttentionProblem p, const AttentionRows dout,
                                                              const S* out, std::int64_t rows, float* delta) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * 256 + threadIdx.x) / 32;
  if (row >= rows) return;
  const AttentionMatrix matrix(p, row / p.queries);
  const S* const slope = matrix.of<S>(dout) + row % p.queries * dout.row;
  const S* const result = out + row * p.value_width;
  float sum = 0;
  for (int i = lane_of_warp(); i < p.value_width; i += 32)
    sum = fused(convert<float>(slope[i]), convert<float>(result[i]), sum);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane_of_warp() == 0) delta[row] = sum;
}

}  // namespace

void run_attention_gradient(const AttentionProblem& problem, const AttentionRows& dout, DType dtype,
                            std::int64_t matrices, const AttentionOutputs& outputs, float* delta,
                            const AttentionSlopes& slopes, cudaStream_t stream) {
  with_attention_tiles(problem, dtype, [&]<class S, int kWidth>() {
    const std::int64_t rows = matrices * problem.queries;
    if (rows > 0) {
      launch(kAttentionName, attention_delta_kernel<S>, static_cast<unsigned>((rows + 7) / 8), 256, 0, stream, problem,
             dout, static_cast<const S*>(outputs.out), rows, delta);
    }
    const auto run = [&]<AttentionGradient kGradient>(void* gradient, void* value_gradient) {
      using Tiling = GradientTiling<S, kWidth, kGradient>;
      launch_attention<Tiling>(attention_backward_kernel<Tiling>, Tiling::kByKeys ? problem.keys : problem.queries,
                               Tiling::kRows, matrices, stream, problem, dout, {outputs.totals, delta},
                               static_cast<S*>(gradient), static_cast<S*>(value_gradient));
    };
    run.template operator()<AttentionGradient::Query>(slopes.query, nullptr);
    if constexpr (kWidth <= 128) {
      run.template operator()<AttentionGradient::KeyAndValue>(slopes.key, slopes.value);
    } else {
      run.template operator()<AttentionGradient::Key>(slopes.key, nullptr);
      run.template operator()<AttentionGradient::Value>(nullptr, slopes.value);
    }
  });
}

}  // namespace lamella::cuda
