#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/core/tensor.h"

// Factorizations by panels: a block factors a few columns of a matrix, and many blocks update what is beside them.

namespace lamella::cuda {

/// Columns of a panel.
inline constexpr std::int32_t kPanel = 32;

/// Matrices of a batch, in elements.
struct MatrixPart {
  void* data;
  std::int64_t batch;  ///< distance of neighboring matrices
  std::int64_t row;
  std::int64_t column;
  bool conjugated = false;
};

/// Subtracts a @ b from c for every matrix of a batch: c is [m, n], and k is at most kPanel.
struct UpdateArgs {
  MatrixPart a;
  MatrixPart b;
  MatrixPart c;
  std::int64_t m;
  std::int64_t n;
  std::int32_t k;
  std::int64_t batches;
  /// Matrices with a number other than 0 are left as they are; may be null.
  const std::int32_t* info = nullptr;
};
void launch_update(const UpdateArgs& args, DType dtype, cudaStream_t stream, const char* op);

/// Returns the part of the contiguous matrices x that begins at an element, transposed if asked.
MatrixPart part_of(const Tensor& x, std::int64_t row, std::int64_t column, bool transposed = false);

}  // namespace lamella::cuda
