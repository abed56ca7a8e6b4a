#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Copies of tensors with a part replaced, and positions of elements; all composed of the operators in gather.h and
// select.h.

namespace lamella {

struct SelectScatter {
  static constexpr OpInfo info{.name = "select_scatter",
                               .doc = "A copy of x with `src` in the place of select(x, axis, index), of that shape.",
                               .parameters = "x, src, axis, index",
                               .example = "select_scatter(zeros([2, 3]), ones([2]), 1, 0)"};
  static Tensor call(const Tensor& x, const Tensor& src, std::int64_t axis, std::int64_t index);
};

struct SliceScatter {
  static constexpr OpInfo info{
      .name = "slice_scatter",
      .doc =
          "A copy of x with `src` in the place of the slices start:stop:step along an axis, as Python counts them; src "
          "has their shape.",
      .parameters = "x, src, axis=0, start=None, stop=None, step=1",
      .example = "slice_scatter(zeros([4]), ones([2]), 0, 1, 3)"};
  /// Throws ValueError if the step is below 1.
  static Tensor call(const Tensor& x, const Tensor& src, std::int64_t axis, std::optional<std::int64_t> start,
                     std::optional<std::int64_t> stop, std::int64_t step);
};

struct Put {
  static constexpr OpInfo info{
      .name = "put",
      .doc =
          "A copy of x with `values` at the elements whose numbers, in row-major order, stand in `indices`, an integer "
          "tensor of the same size: or with them added, where `accumulate` is set. Of several for an element the last "
          "counts. IndexError for numbers out of range.",
      .parameters = "x, indices, values, accumulate=False",
      .example = "put(zeros([2, 2]), asarray([3, 0]), asarray([1.0, 2.0]))"};
  static Tensor call(const Tensor& x, const Tensor& indices, const Tensor& values, bool accumulate);
};

struct IndexReduce {
  static constexpr OpInfo info{
      .name = "index_reduce",
      .doc =
          "A copy of x in which the slices along an axis whose numbers stand in `index`, an integer tensor with one "
          "axis, are reduced with those of `source`: by 'prod', 'mean', 'amax', 'amin' or 'sum' (see scatter_reduce).",
      .parameters = "x, axis, index, source, reduce, *, include_self=True",
      .example = "index_reduce(ones([3]), 0, asarray([2, 2]), asarray([3.0, 5.0]), 'amax')"};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source,
                     std::string_view reduce, bool include_self);
};

struct ArgWhere {
  static constexpr OpInfo info{
      .name = "argwhere",
      .doc = "The indices (int64) of the elements that are not 0: a row per element, a column per axis of x.",
      .example = "argwhere(eye(2))",
      .reference = "np.argwhere(x)"};
  static Tensor call(const Tensor& x);
};

}  // namespace lamella
