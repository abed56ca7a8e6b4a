#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Diagonal {
  static constexpr OpInfo info{.name = "diagonal",
                               .doc =
                                   "A view of the diagonals over two axes, which the result has as its last axis. "
                                   "Positive offsets lie above the "
                                   "main diagonal, negative ones below it. The gradient is placed into zeros.",
                               .parameters = "x, /, *, offset=0, axis1=-2, axis2=-1",
                               .example = "diagonal(ones([2, 3]), offset=1)",
                               .reference = "np.diagonal(x, offset, axis1, axis2)"};
  static Tensor call(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2);
};

struct Trace {
  static constexpr OpInfo info{.name = "trace",
                               .doc =
                                   "The sums of the diagonals of the matrices in the last two axes. Integers are added "
                                   "as int64 unless dtype says "
                                   "otherwise.",
                               .parameters = "x, /, *, offset=0, dtype=None",
                               .example = "trace(eye(3))",
                               .reference = "np.trace(x, offset, -2, -1, dtype)"};
  static Tensor call(const Tensor& x, std::int64_t offset, std::optional<DType> dtype);
};

inline Tensor diagonal(const Tensor& x, std::int64_t offset = 0, std::int64_t axis1 = -2, std::int64_t axis2 = -1) {
  return Diagonal::call(x, offset, axis1, axis2);
}
/// Returns zero matrices in the last two axes of `shape` with the rows of x on a diagonal, whose length they must have.
/// Recorded.
Tensor on_diagonal(const Tensor& x, std::int64_t offset, const Dims& shape);
/// Returns a copy of x whose diagonal(x, ..) is replaced by values, of x's dtype and of its shape. Recorded.
Tensor insert_diagonal(const Tensor& x, const Tensor& values, std::int64_t offset, std::int64_t axis1,
                       std::int64_t axis2);
inline Tensor trace(const Tensor& x, std::int64_t offset = 0, std::optional<DType> dtype = std::nullopt) {
  return Trace::call(x, offset, dtype);
}

}  // namespace lamella
