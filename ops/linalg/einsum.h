#pragma once

#include <string_view>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Einsum {
  static constexpr OpInfo info{
      .name = "einsum",
      .doc =
          "Sums of products of tensors, by Einstein's convention: 'ij,jk->ik' is the matrix product. Each tensor has a "
          "letter for each axis, and axes of the same letter have the same length (or length 1, which is repeated). "
          "What "
          "the result does not name is summed over; without '->' it has the letters that occur once, in alphabetical "
          "order. A letter that a tensor has twice takes its diagonal; '...' stands for any axes, which broadcast. "
          "Several tensors are multiplied in the order that keeps intermediate results small.",
      .parameters = "subscripts, operands, /",
      .example = "einsum('ij,kj->ik', ones([2, 3]), ones([4, 3]))",
      .reference = "np.einsum(subscripts, *operands)",
      .dtypes = Numeric,
      .method = false};
  static Tensor call(std::string_view subscripts, const std::vector<Tensor>& operands);
};

inline Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& operands) {
  return Einsum::call(subscripts, operands);
}

}  // namespace lamella
