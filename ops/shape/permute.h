#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct PermuteDims {
  static constexpr OpInfo info{
      .name = "permute_dims",
      .doc = "A view of x with its axes in another order: axis i of the result is axis axes[i] of x.",
      .parameters = "x, /, axes",
      .example = "permute_dims(ones([2, 3, 4]), [2, 0, 1])",
      .reference = "np.transpose(x, axes)"};
  static Tensor call(const Tensor& x, const Dims& axes);
};

struct MatrixTranspose {
  static constexpr OpInfo info{.name = "matrix_transpose",
                               .doc = "A view of x, which has at least two axes, with the last two exchanged.",
                               .example = "matrix_transpose(ones([2, 3]))",
                               .reference = "np.swapaxes(x, -1, -2)"};
  static Tensor call(const Tensor& x);
};

struct SwapAxes {
  static constexpr OpInfo info{.name = "swapaxes",
                               .doc = "A view of x with two axes exchanged.",
                               .parameters = "x, axis1, axis2, /",
                               .example = "swapaxes(ones([2, 3, 4]), 0, 2)",
                               .reference = "np.swapaxes(x, axis1, axis2)"};
  static Tensor call(const Tensor& x, std::int64_t axis1, std::int64_t axis2);
};

inline Tensor permute_dims(const Tensor& x, const Dims& axes) { return PermuteDims::call(x, axes); }
inline Tensor matrix_transpose(const Tensor& x) { return MatrixTranspose::call(x); }
inline Tensor swapaxes(const Tensor& x, std::int64_t axis1, std::int64_t axis2) {
  return SwapAxes::call(x, axis1, axis2);
}
/// Returns a view of x with its axes in reverse order, as x.T does in numpy.
Tensor reverse_axes(const Tensor& x);

}  // namespace lamella
