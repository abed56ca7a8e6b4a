#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/matrices.h"
#include "ops/op_info.h"

// Determinants of the matrices in the last two axes. The gradients are in Giles, An extended collection of matrix
// derivative results (2008), section 2.2.

namespace lamella {

struct LinalgDet {
  static constexpr OpInfo info{.name = "linalg_det",
                               .doc =
                                   "The determinants of square matrices. The gradient is right for singular matrices, "
                                   "too: the cofactors, from a singular value decomposition.",
                               .example = "linalg.det(eye(2))",
                               .reference = "np.linalg.det(x)",
                               .dtypes = linalg::Decomposable,
                               .method = false};
  static Tensor call(const Tensor& x);
};

struct LinalgSlogdet {
  static constexpr OpInfo info{
      .name = "linalg_slogdet",
      .doc =
          "The sign of the determinants of square matrices (1, -1 or 0; for complex ones of magnitude 1, or 0) and the "
          "logarithm of their magnitude, -inf for a singular matrix, at which a gradient is a ValueError.",
      .example = "linalg.slogdet(eye(2))",
      .reference = "np.linalg.slogdet(x)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x);
};

namespace linalg {

inline Tensor det(const Tensor& x) { return LinalgDet::call(x); }
inline std::vector<Tensor> slogdet(const Tensor& x) { return LinalgSlogdet::call(x); }

}  // namespace linalg
}  // namespace lamella
