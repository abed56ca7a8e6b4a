#include "ops/nn/cuda/attention_forward.h"

#include "ops/nn/cuda/attention_launch.h"

namespace lamella::cuda {
namespace {

// Found by trying on an H200: two strips of queries for each reading of keys, as long as their results leave registers
// for them.
template <class S, int kWidth>
struct ForwardTiling : AttentionTiling<S, kWidth, 64, 4, kWidth == 64 ? 2 : 1, true> {};
template <int kWidth>
struct ForwardTiling<float, kWidth> : AttentionTiling<float, kWidth, 32, 4, 1, false> {};
template <>
struct ForwardTiling<float, 256> : AttentionTiling<float, 256, 16, 2, 1, false> {};

}  // namespace

void run_attention(const AttentionProblem& problem, DType dtype, std::int64_t matrices, const AttentionOutputs& outputs,
                   cudaStream_t stream) {
  with_attention_tiles(problem, dtype, [&]<class S, int kWidth>() {
    using Tiling = ForwardTiling<S, kWidth>;
    launch_attention<Tiling>(attention_forward_kernel<Tiling>, problem.queries, Tiling::kQueries, matrices, stream,
                             problem, static_cast<S*>(outputs.out), outputs.totals);
  });
}

}  // namespace lamella::cuda
