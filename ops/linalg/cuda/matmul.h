#pragma once

#include <cuda_runtime_api.h>

#include "engine/core/tensor.h"

namespace lamella::cuda {

/// out = a @ b for batches of matrices whose leading axes broadcast to those of `out`, which is contiguous; any
/// strides. Floating and complex dtypes by cuBLAS, in float32 without the reduced precision of TF32; int32 and int64 by
/// a kernel of its own, wrapping. Returns false: the bias is left to the caller.
bool matmul(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out, const char* op);

/// A batch of products of integer matrices; strides in elements, c's rows dense.
struct IntegerMatmul {
  const char* a;
  const char* b;
  char* c;
  std::int64_t m, k, n;
  std::int64_t a_row, a_column, a_batch;
  std::int64_t b_row, b_column, b_batch;
  std::int64_t batches;
};
void launch_integer_matmul(const IntegerMatmul& args, DType dtype, cudaStream_t stream);

}  // namespace lamella::cuda
