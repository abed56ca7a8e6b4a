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
      .dtypes = Real | Boolean};
  /// ValueError for a 0-d tensor; RuntimeError on meta, where the number of positions is not known.
  static std::vector<Tensor> call(const Tensor& x);
};

inline std::vector<Tensor> nonzero(const Tensor& x) { return Nonzero::call(x); }

}  // namespace lamella
