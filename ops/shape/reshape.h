#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Reshape {
  static constexpr OpInfo info{
      .name = "reshape",
      .doc =
          "The elements of x, in row-major order, in another shape; one size may be -1 and is then worked out. "
          "A view where x's strides allow, otherwise a copy; copy=True always copies, copy=False raises ValueError "
          "where a copy would be needed.",
      .parameters = "x, /, shape, *, copy=None",
      .example = "reshape(arange(6), [2, 3])",
      .reference = "np.reshape(x, shape)"};
  /// True if Python accepts x.reshape(2, 3) for x.reshape((2, 3)).
  static constexpr bool kTakesSizesApart = true;
  static Tensor call(const Tensor& x, const Dims& shape, std::optional<bool> copy);
};

struct Flatten {
  static constexpr OpInfo info{.name = "flatten",
                               .doc = "x with the axes from start_axis to stop_axis, both included, made into one.",
                               .parameters = "x, /, start_axis=0, stop_axis=-1",
                               .example = "flatten(ones([2, 3]))",
                               .reference = "np.reshape(x, -1)"};
  static Tensor call(const Tensor& x, std::int64_t start_axis, std::int64_t stop_axis);
};

struct Squeeze {
  static constexpr OpInfo info{
      .name = "squeeze",
      .doc =
          "A view of x without the given axes, which must have size 1; without all such axes where none is "
          "given.",
      .parameters = "x, /, axis=None",
      .example = "squeeze(ones([2, 1, 3]), 1)",
      .reference = "np.squeeze(x, axis)"};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis);
};

struct ExpandDims {
  static constexpr OpInfo info{
      .name = "expand_dims",
      .doc = "A view of x with a new axis of size 1 at each of the given places of the result.",
      .parameters = "x, /, axis=0",
      .example = "expand_dims(ones([2]), -1)",
      .reference = "np.expand_dims(x, axis)"};
  static Tensor call(const Tensor& x, const Dims& axis);
};

inline Tensor reshape(const Tensor& x, const Dims& shape) { return Reshape::call(x, shape, std::nullopt); }
inline Tensor flatten(const Tensor& x, std::int64_t start_axis = 0, std::int64_t stop_axis = -1) {
  return Flatten::call(x, start_axis, stop_axis);
}
inline Tensor squeeze(const Tensor& x, const std::optional<Dims>& axis = std::nullopt) {
  return Squeeze::call(x, axis);
}
inline Tensor squeeze(const Tensor& x, std::int64_t axis) { return Squeeze::call(x, Dims{axis}); }
inline Tensor expand_dims(const Tensor& x, const Dims& axis) { return ExpandDims::call(x, axis); }
inline Tensor expand_dims(const Tensor& x, std::int64_t axis) { return ExpandDims::call(x, Dims{axis}); }

}  // namespace lamella
