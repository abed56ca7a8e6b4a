#include "engine/runtime/cuda/check.h"

#include "engine/core/error.h"

namespace lamella::cuda {

void detail::fail_cuda(cudaError_t status, std::string_view op) {
  cudaGetLastError();
  fail<RuntimeError>("[", op, "] CUDA: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")");
}

}  // namespace lamella::cuda
