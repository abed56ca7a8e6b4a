#pragma once

#include <cublas_v2.h>

#include <string_view>

#include "engine/core/device.h"

namespace lamella::cuda {

/// The functions of cuBLAS in use. The library is loaded with the first product on a device rather than with Lamella,
/// because that takes a fifth of a second.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasGemmStridedBatchedEx_64) multiply;
  decltype(&cublasGetStatusName) status_name;
  decltype(&cublasGetStatusString) status_text;
};

/// Returns the functions, loading the library with the first call. Throws RuntimeError if the library, or one of them,
/// is missing.
const Cublas& cublas();

/// Throws RuntimeError with cuBLAS's own text if a call failed; `op` opens the message.
void check(cublasStatus_t status, std::string_view op);

/// Returns this thread's handle for a device, set to its current stream. Each thread has handles of its own, because a
/// handle's workspace serves one stream at a time; they return to a pool when the thread ends.
cublasHandle_t cublas_handle(Device device);

}  // namespace lamella::cuda
