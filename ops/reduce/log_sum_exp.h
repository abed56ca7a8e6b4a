#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct LogSumExp {
  static constexpr OpInfo info{
      .name = "logsumexp",
      .doc =
          "The logarithm of the sum of the exponentials over the given axes (all of them for None), without their "
          "overflow; minus infinity for no elements.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "logsumexp(zeros([2, 3]), axis=1)",
      .reference = "sp.logsumexp(x, axis=axis, keepdims=keepdims)",
      .dtypes = Floating | Complex,
      .out = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

struct NanSum {
  static constexpr OpInfo info{.name = "nansum",
                               .doc = "The sum over the given axes (all of them for None), where NaN counts as 0.",
                               .parameters = "x, /, axis=None, keepdims=False, *, dtype=None",
                               .example = "nansum(ones([2, 3]), axis=1)",
                               .reference = "np.nansum(x, axis=axis, keepdims=keepdims)",
                               .dtypes = Real | Boolean};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, std::optional<DType> dtype);
};

struct NanMean {
  static constexpr OpInfo info{
      .name = "nanmean",
      .doc = "The mean of the elements that are not NaN over the given axes (all of them for None); NaN of none.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "nanmean(ones([2, 3]), axis=1)",
      .reference = "np.nanmean(x, axis=axis, keepdims=keepdims)",
      .dtypes = Floating};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

inline Tensor logsumexp(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false) {
  return LogSumExp::call(x, axis, keepdims);
}
inline Tensor nansum(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false,
                     std::optional<DType> dtype = std::nullopt) {
  return NanSum::call(x, axis, keepdims, dtype);
}
inline Tensor nanmean(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false) {
  return NanMean::call(x, axis, keepdims);
}

}  // namespace lamella
