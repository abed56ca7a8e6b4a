#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Take {
  static constexpr OpInfo info{.name = "take",
                               .doc =
                                   "The elements of x at `indices` along an axis, or of x flattened for None. The "
                                   "indices' shape takes the place of "
                                   "the axis. Gradients of elements taken several times are summed.",
                               .parameters = "x, indices, /, *, axis=None",
                               .example = "take(arange(5), asarray([0, -1]))",
                               .reference = "np.take(x, indices, axis=axis)",
                               .out = true};
  static Tensor call(const Tensor& x, const Tensor& indices, std::optional<std::int64_t> axis);
};

struct TakeAlongAxis {
  static constexpr OpInfo info{
      .name = "take_along_axis",
      .doc =
          "The element at indices[..., i, ...] along an axis of x, for each place: x and indices have the same shape "
          "but for that axis, up to broadcasting.",
      .parameters = "x, indices, /, *, axis=-1",
      .example = "take_along_axis(ones([2, 3]), zeros([2, 1], dtype='int64'), axis=1)",
      .reference = "np.take_along_axis(x, indices, axis)",
      .out = true};
  static Tensor call(const Tensor& x, const Tensor& indices, std::int64_t axis);
};

inline Tensor take(const Tensor& x, const Tensor& indices, std::optional<std::int64_t> axis = std::nullopt) {
  return Take::call(x, indices, axis);
}
inline Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::int64_t axis = -1) {
  return TakeAlongAxis::call(x, indices, axis);
}

}  // namespace lamella
