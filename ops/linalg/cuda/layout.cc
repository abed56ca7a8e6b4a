#include "ops/linalg/cuda/layout.h"

#include "engine/runtime/matmul_precision.h"
#include "ops/movement/cuda/movement.h"
#include "ops/support/checks.h"

namespace lamella::cuda {

bool find_layout(const Tensor& x, Layout& layout) {
  const std::size_t last = x.ndim() - 1;
  const std::int64_t rows = x.shape()[last - 1];
  const std::int64_t columns = x.shape()[last];
  const std::int64_t row = x.strides()[last - 1];
  const std::int64_t column = x.strides()[last];
  // The stride of an axis of size 1 is arbitrary and may be replaced by one that fits.
  if ((columns == 1 || column == 1) && (rows == 1 || row >= columns)) {
    layout = {CUBLAS_OP_N, rows == 1 ? columns : row};
    return true;
  }
  if ((rows == 1 || row == 1) && (columns == 1 || column >= rows)) {
    layout = {CUBLAS_OP_T, columns == 1 ? rows : column};
    return true;
  }
  return false;
}

Tensor with_layout(const Tensor& x, Layout& layout) {
  if (find_layout(x, layout)) return x;
  const Tensor copy = as_contiguous(x);
  find_layout(copy, layout);
  return copy;
}

Numbers numbers_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case DType::BFloat16:
      return {CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case DType::Float32:
      return {CUDA_R_32F, float32_matmul_precision() == MatmulPrecision::Highest ? CUBLAS_COMPUTE_32F
                                                                                 : CUBLAS_COMPUTE_32F_FAST_TF32};
    case DType::Float64:
      return {CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::Complex64:
      return {CUDA_C_32F, CUBLAS_COMPUTE_32F};
    default:
      return {CUDA_C_64F, CUBLAS_COMPUTE_64F};
  }
}

}  // namespace lamella::cuda
