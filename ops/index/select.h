#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

struct IndexSelect {
  static constexpr OpInfo info{
      .name = "index_select",
      .doc =
          "The slices of x along an axis whose numbers stand in `index`, an integer tensor with one axis. IndexError "
          "for a number below 0 or too large.",
      .parameters = "x, axis, index",
      .example = "index_select(ones([3, 2]), 0, asarray([2, 0]))",
      .out = true};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index);
};

struct IndexAdd {
  static constexpr OpInfo info{
      .name = "index_add",
      .doc =
          "A copy of x with alpha times the slices of `source`, of x's dtype, added to those slices along an axis "
          "whose "
          "numbers stand in `index`, an integer tensor with one axis: to one that stands there several times in order.",
      .parameters = "x, axis, index, source, *, alpha=1",
      .example = "index_add(zeros([3]), 0, asarray([2, 2]), ones([2]))",
      .in_place = true};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source, Scalar alpha);
  static Tensor into(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source, Scalar alpha);
};

struct IndexCopy {
  static constexpr OpInfo info{
      .name = "index_copy",
      .doc =
          "A copy of x whose slices along an axis with the numbers in `index`, an integer tensor with one axis, are "
          "those of `source`, of x's dtype. Of several for a slice the last counts.",
      .parameters = "x, axis, index, source",
      .example = "index_copy(zeros([3]), 0, asarray([2, 0]), ones([2]))",
      .in_place = true};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source);
  static Tensor into(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source);
};

struct IndexFill {
  static constexpr OpInfo info{
      .name = "index_fill",
      .doc =
          "A copy of x whose slices along an axis with the numbers in `index`, an integer tensor with one axis, are "
          "filled with a number or a 0-d tensor.",
      .parameters = "x, axis, index, value",
      .example = "index_fill(zeros([3]), 0, asarray([2, 0]), 7)",
      .in_place = true};
  static Tensor call(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& value);
  static Tensor into(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& value);
};

struct IndexPut {
  static constexpr OpInfo info{
      .name = "index_put",
      .doc =
          "A copy y of x after y[indices] = values, where `indices` are tensors of integers or bools, one for each of "
          "the first axes, and `values` broadcasts; with accumulate the values are added, in the order of the picks.",
      .parameters = "x, indices, values, accumulate=False",
      .example = "index_put(zeros([3]), [asarray([2, 2])], ones([2]), accumulate=True)",
      .in_place = true};
  static Tensor call(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values, bool accumulate);
};

struct MaskedSelect {
  static constexpr OpInfo info{
      .name = "masked_select",
      .doc =
          "The elements of x where `mask`, a bool tensor that broadcasts with x, is true, in row-major order: a tensor "
          "with one axis.",
      .parameters = "x, mask",
      .example = "masked_select(arange(3), asarray([True, False, True]))",
      .out = true};
  static Tensor call(const Tensor& x, const Tensor& mask);
};

struct MaskedScatter {
  static constexpr OpInfo info{
      .name = "masked_scatter",
      .doc =
          "A copy of x (broadcast with `mask`, a bool tensor) whose elements where the mask is true are the first ones "
          "of `source`, of x's dtype, in row-major order. ValueError where it has too few.",
      .parameters = "x, mask, source",
      .example = "masked_scatter(zeros([3]), asarray([True, False, True]), ones([2]))",
      .in_place = true};
  static Tensor call(const Tensor& x, const Tensor& mask, const Tensor& source);
};

struct MaskedFill {
  static constexpr OpInfo info{
      .name = "masked_fill",
      .doc =
          "x with `value`, a number or a 0-d tensor, where `mask`, a bool tensor that broadcasts with x, is true. "
          "TypeError where x's dtype cannot hold the value.",
      .parameters = "x, mask, value",
      .example = "masked_fill(zeros([2]), asarray([True, False]), 3)"};
  static Tensor call(const Tensor& x, const Tensor& mask, const Operand& value);
};

inline Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& index) {
  return IndexSelect::call(x, axis, index);
}
inline Tensor index_add(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source,
                        Scalar alpha = 1) {
  return IndexAdd::call(x, axis, index, source, alpha);
}
inline Tensor index_copy(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source) {
  return IndexCopy::call(x, axis, index, source);
}
inline Tensor index_fill(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& value) {
  return IndexFill::call(x, axis, index, value);
}
inline Tensor index_put(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values,
                        bool accumulate = false) {
  return IndexPut::call(x, indices, values, accumulate);
}
inline Tensor masked_select(const Tensor& x, const Tensor& mask) { return MaskedSelect::call(x, mask); }
inline Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  return MaskedScatter::call(x, mask, source);
}
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
  return MaskedFill::call(x, mask, value);
}

}  // namespace lamella
