#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

struct Median {
  static constexpr OpInfo info{
      .name = "median",
      .doc =
          "The middle element along an axis, or of all elements for None: the lower of the two middle ones if their "
          "number is even. kthvalue gives its position as well. NaN if there is one. ValueError for an axis of length "
          "0. The gradient goes to that element.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "median(asarray([1.0, 5.0, 2.0, 4.0]))",
      .dtypes = Real};
  static Tensor call(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims);
};

struct NanMedian {
  static constexpr OpInfo info{.name = "nanmedian",
                               .doc = "The median of the elements that are not NaN; NaN where there are none.",
                               .parameters = "x, /, axis=None, keepdims=False",
                               .example = "nanmedian(asarray([1.0, 5.0, 2.0, 4.0]))",
                               .dtypes = Real};
  static Tensor call(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims);
};

struct Quantile {
  static constexpr OpInfo info{
      .name = "quantile",
      .doc =
          "The values below which a share q of the elements lies along an axis, or of all elements for None: those at "
          "position q (n - 1) in ascending order, by `interpolation` between neighbors ('linear', 'lower', 'higher', "
          "'nearest', 'midpoint'). q is a number or a tensor with at most one axis, which becomes the first of the "
          "result. NaN if there is one. The gradient goes to the neighbors, and to q if it weighs them.",
      .parameters = "x, q, /, axis=None, keepdims=False, *, interpolation='linear'",
      .example = "quantile(asarray([1.0, 2.0, 3.0, 4.0]), 0.5)",
      .reference = "np.quantile(x, q, axis=axis, keepdims=keepdims, method=interpolation)",
      .dtypes = Floating};
  static Tensor call(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis, bool keepdims,
                     std::string_view interpolation);
};

struct NanQuantile {
  static constexpr OpInfo info{.name = "nanquantile",
                               .doc = "The quantile of the elements that are not NaN; NaN where there are none.",
                               .parameters = "x, q, /, axis=None, keepdims=False, *, interpolation='linear'",
                               .example = "nanquantile(asarray([1.0, float('nan'), 3.0, 4.0]), 0.5)",
                               .reference = "np.nanquantile(x, q, axis=axis, keepdims=keepdims, method=interpolation)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis, bool keepdims,
                     std::string_view interpolation);
};

struct Percentile {
  static constexpr OpInfo info{.name = "percentile",
                               .doc = "The quantile of q in percent, between 0 and 100.",
                               .parameters = "x, q, /, axis=None, keepdims=False, *, interpolation='linear'",
                               .example = "percentile(asarray([1.0, 2.0, 3.0, 4.0]), 50)",
                               .reference = "np.percentile(x, q, axis=axis, keepdims=keepdims, method=interpolation)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis, bool keepdims,
                     std::string_view interpolation);
};

struct NanPercentile {
  static constexpr OpInfo info{
      .name = "nanpercentile",
      .doc = "The percentile of the elements that are not NaN; NaN where there are none.",
      .parameters = "x, q, /, axis=None, keepdims=False, *, interpolation='linear'",
      .example = "nanpercentile(asarray([1.0, float('nan'), 3.0, 4.0]), 50)",
      .reference = "np.nanpercentile(x, q, axis=axis, keepdims=keepdims, method=interpolation)",
      .dtypes = Floating};
  static Tensor call(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis, bool keepdims,
                     std::string_view interpolation);
};

inline Tensor median(const Tensor& x, std::optional<std::int64_t> axis = std::nullopt, bool keepdims = false) {
  return Median::call(x, axis, keepdims);
}
inline Tensor nanmedian(const Tensor& x, std::optional<std::int64_t> axis = std::nullopt, bool keepdims = false) {
  return NanMedian::call(x, axis, keepdims);
}
inline Tensor quantile(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis = std::nullopt,
                       bool keepdims = false, std::string_view interpolation = "linear") {
  return Quantile::call(x, q, axis, keepdims, interpolation);
}

}  // namespace lamella
