#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/core/dtype.h"
#include "engine/core/half.h"
#include "engine/runtime/cuda/launch.h"
#include "ops/nn/cuda/attention.h"

namespace lamella::cuda {

/// Calls f.operator()<S, kWidth>() with the type of elements and the least width of tiles that holds a problem's rows.
template <class F>
void with_attention_tiles(const AttentionProblem& problem, DType dtype, F&& f) {
  const std::int32_t width = std::max(problem.width, problem.value_width);
  const auto with_type = [&]<class S>() {
    width <= 64 ? f.template operator()<S, 64>() : f.template operator()<S, 128>();
  };
  if (dtype == DType::Float16) {
    with_type.template operator()<Half>();
  } else if (dtype == DType::BFloat16) {
    with_type.template operator()<BFloat16>();
  } else if (width <= 128) {
    with_type.template operator()<float>();
  } else {
    f.template operator()<float, 256>();
  }
}

/// Starts a kernel with a block for each `rows` rows of each matrix.
template <class Tiling, class... P>
void launch_attention(void (*kernel)(P...), std::int64_t rows, std::int64_t rows_of_block, std::int64_t matrices,
                      cudaStream_t stream, std::type_identity_t<P>... arguments) {
  if (rows == 0) return;
  // A kernel has to ask for more than 48 KiB.
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(Tiling::kShared)),
        kAttentionName);
  const std::int64_t blocks = (rows + rows_of_block - 1) / rows_of_block * matrices;
  launch(kAttentionName, kernel, static_cast<unsigned>(blocks), Tiling::kThreads, Tiling::kShared, stream,
         arguments...);
}

}  // namespace lamella::cuda
