#pragma once

#include <cublas_v2.h>

#include <string_view>

#include "engine/core/device.h"

namespace lamella::cuda {

/// The functions of cuBLAS that are called here. The library is loaded with the first product on a device, not with
/// Lamella: that takes a fifth of a second.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasGemmStridedBatchedEx_64) multiply;
  decltype(&cublasGetStatusName) status_name;
  decltype(&cublasGetStatusString) status_text;
};

/// Loads them where that was not done. RuntimeError where the library, or one of them, is not to be had.
const Cublas& cublas();

/// RuntimeError with cuBLAS's own text where a call failed; `op` opens the message.
void check(cublasStatus_t status, std::string_view op);

/// This thread's handle for a device, set to its current stream. A thread has handles of its own because a handle's
/// workspace serves one stream at a time; they go back to a pool when it ends.
cublasHandle_t cublas_handle(Device device);

}  // namespace lamella::cuda
