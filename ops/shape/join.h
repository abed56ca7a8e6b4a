#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/shape/cuts.h"

namespace lamella {

struct Concat {
  static constexpr OpInfo info{
      .name = "concat",
      .doc =
          "The tensors one after the other along an axis that exists; for None, each is flattened first. All other "
          "sizes must agree; the dtypes are promoted.",
      .parameters = "arrays, /, axis=0",
      .example = "concat([ones([2, 3]), zeros([1, 3])], axis=0)",
      .reference = "np.concatenate(arrays, axis)",
      .method = false,
      .out = true};
  static Tensor call(const std::vector<Tensor>& arrays, std::optional<std::int64_t> axis);
};

struct Stack {
  static constexpr OpInfo info{.name = "stack",
                               .doc = "The tensors, all of one shape, one after the other along a new axis.",
                               .parameters = "arrays, /, axis=0",
                               .example = "stack([ones([2]), zeros([2])], axis=1)",
                               .reference = "np.stack(arrays, axis)",
                               .method = false,
                               .out = true};
  static Tensor call(const std::vector<Tensor>& arrays, std::int64_t axis);
};

struct Split {
  static constexpr OpInfo info{
      .name = "split",
      .doc =
          "Views of consecutive parts of x along an axis: a number gives how many equal parts, a list their "
          "sizes, of which one may be -1 and is then worked out.",
      .parameters = "x, sections_or_sizes, axis=0",
      .example = "split(arange(6), [1, 2, 3])"};
  static std::vector<Tensor> call(const Tensor& x, const Cuts& sections_or_sizes, std::int64_t axis);
};

struct Flip {
  static constexpr OpInfo info{
      .name = "flip",
      .doc = "A view of x with the order of its elements reversed along the given axes (all of them for None).",
      .parameters = "x, /, axis=None",
      .example = "flip(arange(3))",
      .reference = "np.flip(x, axis)"};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis);
};

struct Roll {
  static constexpr OpInfo info{
      .name = "roll",
      .doc =
          "x with its elements moved by `shift` places along an axis, those that leave at one end coming back at "
          "the other; for None, along the flattened tensor. Several axes have a shift each, or one for all.",
      .parameters = "x, /, shift, axis=None",
      .example = "roll(arange(5), 2)",
      .reference = "np.roll(x, shift, axis)",
      .out = true};
  static Tensor call(const Tensor& x, const Dims& shift, const std::optional<Dims>& axis);
};

inline Tensor concat(const std::vector<Tensor>& arrays, std::optional<std::int64_t> axis = 0) {
  return Concat::call(arrays, axis);
}
inline Tensor stack(const std::vector<Tensor>& arrays, std::int64_t axis = 0) { return Stack::call(arrays, axis); }
inline std::vector<Tensor> split(const Tensor& x, const Cuts& sections_or_sizes, std::int64_t axis = 0) {
  return Split::call(x, sections_or_sizes, axis);
}
inline Tensor flip(const Tensor& x, const std::optional<Dims>& axis = std::nullopt) { return Flip::call(x, axis); }
inline Tensor roll(const Tensor& x, std::int64_t shift, std::optional<std::int64_t> axis = std::nullopt) {
  return Roll::call(x, Dims{shift}, axis ? std::optional<Dims>(Dims{*axis}) : std::nullopt);
}
/// Returns a view of `length` elements of one axis from `start` on; the range must be within x.
Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length);

}  // namespace lamella
