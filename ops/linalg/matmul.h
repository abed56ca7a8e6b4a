#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Matmul {
  static constexpr OpInfo info{
      .name = "matmul",
      .doc =
          "The matrix product over the last two axes of a and b, whose other axes broadcast. A tensor with one "
          "axis is taken for a row on the left and for a column on the right, and that axis is then left out of "
          "the result. float16 and bfloat16 are summed in float32. Gradients: da = dy @ b.mH and db = a.mH @ dy, "
          "summed over broadcast axes.",
      .parameters = "a, b, /",
      .example = "matmul(ones([2, 3]), ones([3, 4]))",
      .reference = "np.matmul(a, b)",
      .dtypes = Numeric,
      .autocast = Autocast::Lower,
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& a, const Tensor& b);
};

inline Tensor matmul(const Tensor& a, const Tensor& b) { return Matmul::call(a, b); }

}  // namespace lamella
