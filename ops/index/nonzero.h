#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Nonzero {
  static constexpr OpInfo info{
      .name = "nonzero",
      .doc =
          "The positions of the elements that are not zero, in row-major order: for each axis an int64 tensor of "
          "their indices along it.",
      .example = "nonzero(eye(3))",
      .dtypes = AnyDType};
  /// Throws ValueError for a 0-d tensor, RuntimeError on meta, where the number of positions is unknown.
  static std::vector<Tensor> call(const Tensor& x);
};

/// Throws RuntimeError that names `op` if x is on meta or hides an axis of vmap: the number of its nonzero elements,
/// and with it the result's shape, is unknown.
void check_countable(const Tensor& x, const char* op);

/// Returns the row-major positions of the true elements of a bool tensor: int64, one axis, on the tensor's device.
/// Throws RuntimeError on meta and under vmap, where their number is unknown.
Tensor true_positions(const Tensor& mask, const char* op);

/// Returns the elements of x, in order, where `mask` is true. Both are contiguous, of the same size and on the CPU, and
/// x is not recorded.
Tensor true_elements(const Tensor& x, const Tensor& mask);

/// Returns the positions of the nonzero elements of x, one row of indices each, in row-major order. Throws RuntimeError
/// that names `op`, as check_countable() does.
Tensor true_places(const Tensor& x, const char* op);

inline std::vector<Tensor> nonzero(const Tensor& x) { return Nonzero::call(x); }

}  // namespace lamella
