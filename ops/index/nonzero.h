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
      .parameters = "x, /",
      .example = "nonzero(eye(3))",
      .dtypes = AnyDType};
  /// ValueError for a 0-d tensor; RuntimeError on meta, where the number of positions is not known.
  static std::vector<Tensor> call(const Tensor& x);
};

/// RuntimeError naming `op` where x is on meta or hides an axis of vmap's: how many of its elements are not zero, and
/// with that the shape of the result, is not known.
void check_countable(const Tensor& x, const char* op);

/// The numbers, in row-major order, of the elements of a bool tensor that are true: int64, one axis, on the tensor's
/// device. RuntimeError on meta and under vmap, where their number is not known.
Tensor true_positions(const Tensor& mask, const char* op);

/// Those elements of x, in order, beside which a bool tensor is true. Both are contiguous, of the same size and on the
/// CPU, and nothing follows x.
Tensor true_elements(const Tensor& x, const Tensor& mask);

/// The positions of the elements of x that are not zero, a row of indices for each, in row-major order. RuntimeError
/// naming `op` as check_countable().
Tensor true_places(const Tensor& x, const char* op);

inline std::vector<Tensor> nonzero(const Tensor& x) { return Nonzero::call(x); }

}  // namespace lamella
