#pragma once

#include <cuda_runtime_api.h>

#include "engine/core/tensor.h"

namespace lamella::cuda {

/// Computes out = a @ b for batches of matrices whose leading axes broadcast to those of `out`, which is contiguous;
/// any strides. Floating and complex dtypes use cuBLAS, float32 as float32_matmul_precision() says; int32 and int64 use
/// a separate kernel and wrap. Returns true if cuBLASLt added the contiguous `bias`, before rounding: that of one
/// floating product.
bool matmul(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out, const char* op);

/// Computes out = a @ b and the sums of a's rows, as MatmulAndSum (ops/support/fused_products.h).
bool matmul_and_sum(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& sums, const char* op);

/// Computes out = a @ b as matmul() does, for floating and complex dtypes, into an `out` whose rows are contiguous and
/// do not overlap. Of 16-bit a and b it may be float32.
void multiply(const Tensor& a, const Tensor& b, const Tensor& out, const char* op);

/// A batch of products of integer matrices; strides are in elements, c's rows are contiguous.
struct IntegerMatmul {
  const char* a;
  const char* b;
  char* c;
  std::int64_t m, k, n;
  std::int64_t a_row, a_column, a_batch;
  std::int64_t b_row, b_column, b_batch;
  std::int64_t c_batch;
  std::int64_t batches;
};
void launch_integer_matmul(const IntegerMatmul& args, DType dtype, cudaStream_t stream);

}  // namespace lamella::cuda
