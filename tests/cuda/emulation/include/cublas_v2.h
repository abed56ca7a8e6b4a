#pragma once

#include <cstdint>

#include "cuda_runtime_api.h"

// The part of cuBLAS that Lamella calls.

#define CUBLAS_VER_MAJOR 0

typedef struct EmulatedCublas* cublasHandle_t;

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_C_32F = 4,
  CUDA_C_64F = 5,
  CUDA_R_16BF = 14,
};
typedef cudaDataType_t cudaDataType;
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77, CUBLAS_COMPUTE_64F = 70 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);
/// Computes c = alpha op(a) op(b) + beta c for a batch of column-major matrices.
cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t a_operation,
                                             cublasOperation_t b_operation, std::int64_t m, std::int64_t n,
                                             std::int64_t k, const void* alpha, const void* a, cudaDataType a_type,
                                             std::int64_t a_leading, long long a_stride, const void* b,
                                             cudaDataType b_type, std::int64_t b_leading, long long b_stride,
                                             const void* beta, void* c, cudaDataType c_type, std::int64_t c_leading,
                                             long long c_stride, std::int64_t batches, cublasComputeType_t compute,
                                             cublasGemmAlgo_t algorithm);

}  // extern "C"
