#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

#include "engine/core/device.h"

namespace lamella::cuda {

/// The functions of cuBLASLt in use: products that do more on their way, as to add a bias. The library comes with
/// cuBLAS, which uses it. Descriptors are initialized where they lie, so that none has to be freed.
struct CublasLt {
  decltype(&cublasLtMatmul) multiply;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithms;
  decltype(&cublasLtMatmulDescInit_internal) init_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_product;
  decltype(&cublasLtMatrixLayoutInit_internal) init_layout;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
};

/// Returns the functions, loading the library with the first call; null if the library, or one of them, is missing.
const CublasLt* cublas_lt();

/// Returns this thread's handle for a device, which is that of cuBLAS.
cublasLtHandle_t cublas_lt_handle(Device device);

}  // namespace lamella::cuda
