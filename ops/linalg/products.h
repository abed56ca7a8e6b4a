#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Products of vectors and matrices, composed of matmul() and elementwise products.

namespace lamella {

struct Vecdot {
  static constexpr OpInfo info{
      .name = "vecdot",
      .doc =
          "The sums of conj(x1) * x2 along an axis, which is counted from the end and has the same length on both "
          "sides; the other axes broadcast.",
      .parameters = "x1, x2, /, *, axis=-1",
      .example = "vecdot(ones([2, 3]), ones([3]))",
      .reference = "np.vecdot(x1, x2, axis=axis)",
      .dtypes = Numeric};
  static Tensor call(const Tensor& x1, const Tensor& x2, std::int64_t axis);
};

struct Dot {
  static constexpr OpInfo info{.name = "dot",
                               .doc = "The sum of the products of the elements of two vectors of the same length.",
                               .parameters = "x1, x2, /",
                               .example = "dot(ones([3]), ones([3]))",
                               .reference = "np.dot(x1, x2)",
                               .dtypes = Numeric};
  static Tensor call(const Tensor& x1, const Tensor& x2);
};

struct Outer {
  static constexpr OpInfo info{.name = "outer",
                               .doc = "The products of each element of one vector with each of another: a matrix.",
                               .parameters = "x1, x2, /",
                               .example = "outer(ones([2]), ones([3]))",
                               .reference = "np.outer(x1, x2)"};
  static Tensor call(const Tensor& x1, const Tensor& x2);
};

struct Kron {
  static constexpr OpInfo info{.name = "kron",
                               .doc =
                                   "The Kronecker product: each element of x1 times all of x2, in its place. The "
                                   "tensor with fewer axes is given "
                                   "axes of length 1 in front.",
                               .parameters = "x1, x2, /",
                               .example = "kron(ones([2, 2]), ones([2, 3]))",
                               .reference = "np.kron(x1, x2)"};
  static Tensor call(const Tensor& x1, const Tensor& x2);
};

struct Cross {
  static constexpr OpInfo info{
      .name = "cross",
      .doc = "The cross products of the vectors of three elements along an axis; the other axes broadcast.",
      .parameters = "x1, x2, /, *, axis=-1",
      .example = "cross(ones([2, 3]), ones([2, 3]))",
      .reference = "np.cross(x1, x2, axis=axis)",
      .dtypes = Numeric};
  static Tensor call(const Tensor& x1, const Tensor& x2, std::int64_t axis);
};

struct Tensordot {
  static constexpr OpInfo info{
      .name = "tensordot",
      .doc =
          "The sum of products over pairs of axes: axis axes1[i] of x1 with axis axes2[i] of x2. The result has the "
          "other axes of x1, then those of x2.",
      .parameters = "x1, x2, /, axes1, axes2",
      .example = "tensordot(ones([2, 3]), ones([3, 4]), axes=1)",
      .reference = "np.tensordot(x1, x2, axes=(axes1, axes2))",
      .dtypes = Numeric,
      .method = false};
  static Tensor call(const Tensor& x1, const Tensor& x2, const Dims& axes1, const Dims& axes2);
};

struct LinalgMatrixPower {
  static constexpr OpInfo info{.name = "linalg_matrix_power",
                               .doc =
                                   "The product of n equal square matrices, of their inverses for negative n; the unit "
                                   "matrix for 0. Takes about "
                                   "2 log2(n) products.",
                               .parameters = "x, n, /",
                               .example = "linalg.matrix_power(ones([2, 2]), 3)",
                               .reference = "np.linalg.matrix_power(x, n)",
                               .dtypes = Numeric,
                               .method = false};
  static Tensor call(const Tensor& x, std::int64_t n);
};

inline Tensor vecdot(const Tensor& x1, const Tensor& x2, std::int64_t axis = -1) { return Vecdot::call(x1, x2, axis); }
inline Tensor dot(const Tensor& x1, const Tensor& x2) { return Dot::call(x1, x2); }
inline Tensor outer(const Tensor& x1, const Tensor& x2) { return Outer::call(x1, x2); }
inline Tensor kron(const Tensor& x1, const Tensor& x2) { return Kron::call(x1, x2); }
inline Tensor cross(const Tensor& x1, const Tensor& x2, std::int64_t axis = -1) { return Cross::call(x1, x2, axis); }
inline Tensor tensordot(const Tensor& x1, const Tensor& x2, const Dims& axes1, const Dims& axes2) {
  return Tensordot::call(x1, x2, axes1, axes2);
}

namespace linalg {
inline Tensor matrix_power(const Tensor& x, std::int64_t n) { return LinalgMatrixPower::call(x, n); }
}  // namespace linalg

}  // namespace lamella
