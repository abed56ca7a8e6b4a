#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Var {
  static constexpr OpInfo info{
      .name = "var",
      .doc =
          "The variance over the given axes (all of them for None): the sum of the squared distances from the mean, "
          "divided by the number of elements less `correction`; of integers, in float32. Where that is not above 0 the "
          "result is infinite or NaN. The same bits for any number of threads.",
      .parameters = "x, /, axis=None, correction=0.0, keepdims=False",
      .example = "var(arange(5), correction=1)",
      .reference = "np.var(x, axis=axis, correction=correction, keepdims=keepdims)",
      .dtypes = Real | Boolean,
      .out = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims);
};

struct Std {
  static constexpr OpInfo info{.name = "std",
                               .doc = "The square root of var(). Its gradient is 0 where it is 0.",
                               .parameters = "x, /, axis=None, correction=0.0, keepdims=False",
                               .example = "std(arange(5))",
                               .reference = "np.std(x, axis=axis, correction=correction, keepdims=keepdims)",
                               .dtypes = Real | Boolean,
                               .out = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims);
};

inline Tensor var(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, double correction = 0,
                  bool keepdims = false) {
  return Var::call(x, axis, correction, keepdims);
}
inline Tensor standard_deviation(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, double correction = 0,
                                 bool keepdims = false) {
  return Std::call(x, axis, correction, keepdims);
}

/// Returns x less its means along the axes, and less what their rounding leaves: beside a large mean that is most of
/// the result's error.
Tensor centered(const Tensor& x, const Dims& axes);

}  // namespace lamella
