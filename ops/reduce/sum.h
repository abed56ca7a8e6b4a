#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Sum {
  static constexpr OpInfo info{
      .name = "sum",
      .doc =
          "The sum over the given axes (all of them for None). Signed integers and bools are added as int64, unsigned "
          "integers as uint64; floating values pairwise, 16-bit ones in float32, with the same bits for any number of "
          "threads. With a dtype, x is cast to it first. Nothing sums to 0. The gradient is broadcast back.",
      .parameters = "x, /, axis=None, keepdims=False, *, dtype=None",
      .example = "sum(ones([2, 3]), axis=1)",
      .reference = "np.sum(x, axis=axis, keepdims=keepdims)",
      .autocast = Autocast::Float32,
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, std::optional<DType> dtype);
};

struct Mean {
  static constexpr OpInfo info{
      .name = "mean",
      .doc =
          "The arithmetic mean over the given axes (all of them for None); of integers, in float32. The mean of "
          "nothing is NaN.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "mean(ones([2, 3]), axis=0)",
      .reference = "np.mean(x, axis=axis, keepdims=keepdims)",
      .autocast = Autocast::Float32,
      .out = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

struct Prod {
  static constexpr OpInfo info{
      .name = "prod",
      .doc =
          "The product over the given axes (all of them for None). Signed integers and bools are multiplied as int64, "
          "unsigned integers as uint64, 16-bit floats in float32. With a dtype, x is cast to it first. The product of "
          "nothing is 1. The gradient is exact where there are zeros, too.",
      .parameters = "x, /, axis=None, keepdims=False, *, dtype=None",
      .example = "prod(full([2, 3], 2.0), axis=1)",
      .reference = "np.prod(x, axis=axis, keepdims=keepdims)",
      .autocast = Autocast::Float32,
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, std::optional<DType> dtype);
};

struct SumTo {
  static constexpr OpInfo info{
      .name = "sum_to",
      .doc = "x summed over the axes along which `shape` is broadcast to x's shape: the gradient of broadcast_to.",
      .parameters = "x, /, shape",
      .example = "sum_to(ones([2, 3]), [1, 3])"};
  static Tensor call(const Tensor& x, const Dims& shape);
};

inline Tensor sum(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false,
                  std::optional<DType> dtype = std::nullopt) {
  return Sum::call(x, axis, keepdims, dtype);
}
inline Tensor sum(const Tensor& x, std::int64_t axis, bool keepdims = false) {
  return Sum::call(x, Dims{axis}, keepdims, std::nullopt);
}
/// Returns the sum of the squares of real floating values, computed in one pass; recorded. With `dtype` float32, the
/// sum of 16-bit floats is returned without rounding.
Tensor square_sum(const Tensor& x, const std::optional<Dims>& axis, bool keepdims = false,
                  std::optional<DType> dtype = std::nullopt);

inline Tensor mean(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false) {
  return Mean::call(x, axis, keepdims);
}
inline Tensor mean(const Tensor& x, std::int64_t axis, bool keepdims = false) {
  return Mean::call(x, Dims{axis}, keepdims);
}
inline Tensor prod(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false,
                   std::optional<DType> dtype = std::nullopt) {
  return Prod::call(x, axis, keepdims, dtype);
}
inline Tensor prod(const Tensor& x, std::int64_t axis, bool keepdims = false) {
  return Prod::call(x, Dims{axis}, keepdims, std::nullopt);
}
inline Tensor sum_to(const Tensor& x, const Dims& shape) { return SumTo::call(x, shape); }

}  // namespace lamella
