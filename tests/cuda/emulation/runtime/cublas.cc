#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <complex>
#include <cstdint>

#include "engine/core/half.h"
#include "tests/cuda/emulation/runtime/matrices.h"

using emulation::element;
using emulation::layout_fits;

namespace {

struct Matrices {
  cublasOperation_t a_operation, b_operation;
  std::int64_t m, n, k;
  const void* a;
  const void* b;
  void* c;
  std::int64_t a_leading, b_leading, c_leading;
  std::int64_t a_stride, b_stride, c_stride;
  std::int64_t batches;
};

/// Multiplies elements T, adding in A, into elements C.
template <class T, class A, class C>
cudaError_t multiply(const Matrices& x, A alpha, A beta, cudaStream_t stream) {
  const auto run = [=] {
    for (std::int64_t batch = 0; batch < x.batches; ++batch) {
      const T* const a = static_cast<const T*>(x.a) + batch * x.a_stride;
      const T* const b = static_cast<const T*>(x.b) + batch * x.b_stride;
      C* const c = static_cast<C*>(x.c) + batch * x.c_stride;
      for (std::int64_t column = 0; column < x.n; ++column) {
        for (std::int64_t row = 0; row < x.m; ++row) {
          A sum{};
          for (std::int64_t i = 0; i < x.k; ++i) {
            sum += element<A>(a, x.a_operation, x.a_leading, row, i) *
                   element<A>(b, x.b_operation, x.b_leading, i, column);
          }
          C& to = c[row + column * x.c_leading];
          // With a factor of 0 what c holds is not read: it may be NaN.
          to = static_cast<C>(beta == A{} ? alpha * sum : alpha * sum + beta * static_cast<A>(to));
        }
      }
    }
  };
  return emulation::launch({run, nullptr, dim3(1), dim3(1), 0}, stream);
}

template <class T, class A, class C = T>
cudaError_t multiply(const Matrices& x, const void* alpha, const void* beta, cudaStream_t stream) {
  return multiply<T, A, C>(x, *static_cast<const A*>(alpha), *static_cast<const A*>(beta), stream);
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new EmulatedCublas;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "unknown";
}
const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t a_operation,
                                             cublasOperation_t b_operation, std::int64_t m, std::int64_t n,
                                             std::int64_t k, const void* alpha, const void* a, cudaDataType a_type,
                                             std::int64_t a_leading, long long a_stride, const void* b,
                                             cudaDataType b_type, std::int64_t b_leading, long long b_stride,
                                             const void* beta, void* c, cudaDataType c_type, std::int64_t c_leading,
                                             long long c_stride, std::int64_t batches, cublasComputeType_t compute,
                                             cublasGemmAlgo_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || k < 0 || batches < 0 || !layout_fits(a_operation, m, k, a_leading) ||
      !layout_fits(b_operation, k, n, b_leading) || c_leading < std::max<std::int64_t>(1, m)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool twice = compute == CUBLAS_COMPUTE_64F;
  const bool widens = (a_type == CUDA_R_16F || a_type == CUDA_R_16BF) && c_type == CUDA_R_32F;
  if (a_type != b_type || (a_type != c_type && !widens) || twice != (a_type == CUDA_R_64F || a_type == CUDA_C_64F)) {
    // Complex numbers of two doubles are computed as such by CUBLAS_COMPUTE_64F.
    if (!(a_type == CUDA_C_64F && a_type == b_type && a_type == c_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (m == 0 || n == 0 || batches == 0) return CUBLAS_STATUS_SUCCESS;
  const Matrices x{a_operation, b_operation, m,         n,        k,        a,        b,      c,
                   a_leading,   b_leading,   c_leading, a_stride, b_stride, c_stride, batches};
  cudaError_t error = cudaSuccess;
  switch (a_type) {
    case CUDA_R_16F:
      error = widens ? multiply<lamella::Half, float, float>(x, alpha, beta, handle->stream)
                     : multiply<lamella::Half, float>(x, alpha, beta, handle->stream);
      break;
    case CUDA_R_16BF:
      error = widens ? multiply<lamella::BFloat16, float, float>(x, alpha, beta, handle->stream)
                     : multiply<lamella::BFloat16, float>(x, alpha, beta, handle->stream);
      break;
    case CUDA_R_32F:
      error = compute == CUBLAS_COMPUTE_32F_FAST_TF32
                  ? multiply<emulation::Tf32, float, float>(x, alpha, beta, handle->stream)
                  : multiply<float, float>(x, alpha, beta, handle->stream);
      break;
    case CUDA_R_64F:
      error = multiply<double, double>(x, alpha, beta, handle->stream);
      break;
    case CUDA_C_32F:
      error = multiply<std::complex<float>, std::complex<float>>(x, alpha, beta, handle->stream);
      break;
    case CUDA_C_64F:
      error = multiply<std::complex<double>, std::complex<double>>(x, alpha, beta, handle->stream);
      break;
  }
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
