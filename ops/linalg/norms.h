#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

namespace lamella {

struct LinalgVectorNorm {
  static constexpr OpInfo info{
      .name = "linalg_vector_norm",
      .doc =
          "The norms of the vectors over the given axes (all of them for None): the root of order `ord` of the sum of "
          "magnitudes to that power; the largest magnitude for inf, the smallest for -inf, how many are not 0 for 0. "
          "The gradient of the norm of order 2 is 0 where the norm is.",
      .parameters = "x, /, *, axis=None, keepdims=False, ord=2",
      .example = "linalg.vector_norm(ones([4]))",
      .reference = "np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)",
      .dtypes = Floating | Complex,
      .method = false};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, double ord);
};

struct LinalgMatrixNorm {
  static constexpr OpInfo info{
      .name = "linalg_matrix_norm",
      .doc =
          "The norms of the matrices in the last two axes: 'fro' (the root of the sum of squares), 'nuc' (the sum of "
          "the "
          "singular values), '2' and '-2' (the largest and the smallest one), '1' and '-1' (the largest and the "
          "smallest sum of magnitudes in a column), 'inf' and '-inf' (in a row).",
      .parameters = "x, /, *, keepdims=False, ord='fro'",
      .example = "linalg.matrix_norm(ones([2, 2]), ord=2)",
      .reference = "np.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)",
      .dtypes = Floating | Complex,
      .method = false};
  static Tensor call(const Tensor& x, bool keepdims, std::string_view ord);
};

namespace linalg {

inline Tensor vector_norm(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false,
                          double ord = 2) {
  return LinalgVectorNorm::call(x, axis, keepdims, ord);
}
inline Tensor matrix_norm(const Tensor& x, bool keepdims = false, std::string_view ord = "fro") {
  return LinalgMatrixNorm::call(x, keepdims, ord);
}

}  // namespace linalg
}  // namespace lamella
