#pragma once

#include <cuda_runtime_api.h>

#include "c10/util/Exception.h"

#define C10_CUDA_CHECK(call)                                                                        \
  do {                                                                                              \
    const cudaError_t c10_cuda_error = (call);                                                      \
    TORCH_CHECK(c10_cuda_error == cudaSuccess, "CUDA error: ", cudaGetErrorString(c10_cuda_error)); \
  } while (false)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
