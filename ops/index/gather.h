#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

struct Gather {
  static constexpr OpInfo info{
      .name = "gather",
      .doc =
          "The elements x[..., index[..., i, ...], ...] along `axis`. `index` is an integer tensor with as many axes "
          "as x, no larger than x along the other axes. IndexError for a number below 0 or too large. Gradients of "
          "elements gathered several times are summed, in the order along the axis.",
      .parameters = "x, axis, index",
      .example = "gather(ones([2, 3]), 1, zeros([2, 1], dtype='int64'))",
      .out = true};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index);
};

struct Scatter {
  static constexpr OpInfo info{
      .name = "scatter",
      .doc =
          "A copy of x with the values of `src`, a number or a tensor of x's dtype at least as large as `index`, at "
          "the elements that gather(x, axis, index) picks. Of several values for an element the last along the axis "
          "counts, and it alone gets a gradient.",
      .parameters = "x, axis, index, src",
      .example = "scatter(zeros([3]), 0, asarray([2, 0]), ones([2]))",
      .in_place = true};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& src);
  static Tensor into(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& src);
};

struct ScatterAdd {
  static constexpr OpInfo info{
      .name = "scatter_add",
      .doc =
          "A copy of x with the values of `src`, a tensor of x's dtype at least as large as `index`, added to the "
          "elements that gather(x, axis, index) picks, in the order along the axis.",
      .parameters = "x, axis, index, src",
      .example = "scatter_add(zeros([3]), 0, asarray([2, 2]), ones([2]))",
      .in_place = true};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src);
  static Tensor into(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src);
};

struct ScatterReduce {
  static constexpr OpInfo info{
      .name = "scatter_reduce",
      .doc =
          "A copy of x in which the elements that gather(x, axis, index) picks are reduced with the values of `src`: "
          "`reduce` is 'sum', 'prod', 'mean', 'amax' or 'amin', and x's own element takes part unless include_self is "
          "False. A mean of integers is rounded down. The gradient of an extremum is shared equally among the values "
          "that have it; derivatives of a product up to the second are right for any number of factors of 0, further "
          "ones for one of them.",
      .parameters = "x, axis, index, src, reduce, *, include_self=True",
      .example = "scatter_reduce(zeros([3]), 0, asarray([2, 2]), asarray([1.0, 3.0]), 'amax')",
      .in_place = true};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src,
                     std::string_view reduce, bool include_self);
};

struct PutAlongAxis {
  static constexpr OpInfo info{
      .name = "put_along_axis",
      .doc =
          "A copy of x with `values`, a number or a tensor, at the elements that take_along_axis(x, indices, axis) "
          "picks: all three broadcast together but along the axis. `reduce` is 'assign', 'add', 'mul', 'mean', 'amax' "
          "or 'amin', as in scatter_reduce.",
      .parameters = "x, indices, values, axis, reduce='assign', include_self=True",
      .example = "put_along_axis(zeros([2, 3]), asarray([[0], [2]]), 5.0, 1)",
      .in_place = true};
  static Tensor call(const Tensor& x, const Tensor& indices, const Operand& values, std::int64_t axis,
                     std::string_view reduce, bool include_self);
};

inline Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& index) { return Gather::call(x, axis, index); }
inline Tensor scatter(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& src) {
  return Scatter::call(x, axis, index, src);
}
inline Tensor scatter_add(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src) {
  return ScatterAdd::call(x, axis, index, src);
}
inline Tensor scatter_reduce(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src,
                             std::string_view reduce, bool include_self = true) {
  return ScatterReduce::call(x, axis, index, src, reduce, include_self);
}
inline Tensor put_along_axis(const Tensor& x, const Tensor& indices, const Operand& values, std::int64_t axis,
                             std::string_view reduce = "assign", bool include_self = true) {
  return PutAlongAxis::call(x, indices, values, axis, reduce, include_self);
}

}  // namespace lamella
