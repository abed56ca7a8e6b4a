#pragma once

#include "engine/core/tensor.h"

namespace lamella::cuda {

/// Work that a product does beside multiplying, in the same launch.
enum class Epilogue : std::uint8_t {
  /// Adds a vector, contiguous and as long as the rows of the result, to each of these, before rounding.
  Bias,
  /// Writes the sums of the rows of a to a contiguous vector.
  RowSums,
};

/// Computes out = a @ b for two matrices of a floating dtype and any strides, of at least one element each, and the
/// epilogue with its vector, by cuBLASLt; `out` is contiguous. Returns false, and has written nothing, where the
/// library is missing or has no algorithm for it: the caller does the same in several launches.
bool fused_product(const Tensor& a, const Tensor& b, const Tensor& out, Epilogue epilogue, const Tensor& vector,
                   const char* op);

}  // namespace lamella::cuda
