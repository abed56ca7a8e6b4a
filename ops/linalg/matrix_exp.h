#pragma once

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

namespace lamella {

struct LinalgMatrixExp {
  static constexpr OpInfo info{
      .name = "linalg_matrix_exp",
      .doc =
          "The exponentials of square matrices, the sums of x^i / i!: Taylor's polynomial of x / 2^s, squared s times, "
          "where s is such that the norm of x / 2^s is small (Higham, The scaling and squaring method for the matrix "
          "exponential revisited, 2005). Elements that are not finite give NaN. 16-bit "
          "numbers are computed in float32.",
      .example = "linalg.matrix_exp(zeros([2, 2]))",
      .reference = "sp.linalg.expm(x)",
      .dtypes = Floating | Complex,
      .method = false};
  static Tensor call(const Tensor& x);
};

namespace linalg {
inline Tensor matrix_exp(const Tensor& x) { return LinalgMatrixExp::call(x); }
}  // namespace linalg

}  // namespace lamella
