#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace lamella::cuda {

namespace detail {
[[noreturn, gnu::cold]] void fail_cuda(cudaError_t status, std::string_view op);
}

/// Throws RuntimeError with CUDA's own text if a call of the runtime failed; `op` opens the message.
inline void check(cudaError_t status, std::string_view op) {
  if (status != cudaSuccess) detail::fail_cuda(status, op);
}
/// Throws RuntimeError if the kernel that was just launched failed to start; `op` opens the message.
inline void check_launch(std::string_view op) { check(cudaGetLastError(), op); }

}  // namespace lamella::cuda
