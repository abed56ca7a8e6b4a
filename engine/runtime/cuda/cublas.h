#pragma once

#include <cublas_v2.h>

#include <string_view>

#include "engine/core/device.h"

namespace lamella::cuda {

/// RuntimeError with cuBLAS's own text where a call failed; `op` opens the message.
void check(cublasStatus_t status, std::string_view op);

/// This thread's handle for a device, set to its current stream. A thread has handles of its own because a handle's
/// workspace serves one stream at a time; they go back to a pool when it ends.
cublasHandle_t cublas_handle(Device device);

}  // namespace lamella::cuda
