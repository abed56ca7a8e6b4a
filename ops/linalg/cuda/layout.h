#pragma once

#include <cublas_v2.h>

#include <complex>

#include "engine/core/tensor.h"

// Matrices and their numbers in the words of cuBLAS.

namespace lamella::cuda {

/// The layout of a matrix for cuBLAS, which is column-major: it sees the transpose of ours, or ours if `operation`
/// transposes it back.
struct Layout {
  cublasOperation_t operation;
  std::int64_t leading;
};

/// True if one axis of the matrix is contiguous and the stride of the other avoids overlaps.
bool find_layout(const Tensor& x, Layout& layout);

/// Returns x, or a contiguous copy if it has no layout, and its layout.
Tensor with_layout(const Tensor& x, Layout& layout);

/// The types of elements and of sums.
struct Numbers {
  cudaDataType_t data;
  cublasComputeType_t compute;
};

/// Returns the types for a floating or complex dtype; 16-bit floats are added in float32. Float32 is
/// multiplied as float32_matmul_precision() says.
Numbers numbers_of(DType dtype);

/// The factors 1 and 0, in the type in which cuBLAS computes.
struct Factors {
  std::complex<float> single[2] = {1, 0};
  std::complex<double> twice[2] = {1, 0};

  const void* get(DType dtype, int which) const {
    const bool is_double = dtype == DType::Float64 || dtype == DType::Complex128;
    return is_double ? static_cast<const void*>(&twice[which]) : &single[which];
  }
};

}  // namespace lamella::cuda
