#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Computes out = a @ b + bias for batches of matrices [.., m, k] and [.., k, n] whose leading axes broadcast to those
/// of `out`, which is contiguous; `bias` has the shape [n] or is undefined. Not recorded; does nothing on meta.
///
/// On the CPU small products and those of integers and complex numbers use our kernels, float32 oneDNN if it is
/// available, everything else Eigen. Transposed matrices are read in place. Narrow dtypes are multiplied in wider ones
/// (Note [Narrow dtypes]), float16 and bfloat16 in float32, and rounded once (oneDNN does that itself for bfloat16 if
/// the processor has instructions for it).
void write_product(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out, const char* op);

namespace detail {

/// A matrix, or a batch of them at equal distances (0: always the same one). Strides are in elements; that of rows or
/// of columns is 1.
struct MatrixView {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t batch = 0;
};

}  // namespace detail
}  // namespace lamella
