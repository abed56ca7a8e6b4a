#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Max {
  static constexpr OpInfo info{
      .name = "max",
      .doc =
          "The largest element over the given axes (all of them for None); NaN where there is one. ValueError for "
          "an axis of length 0. The gradient is shared evenly by all elements that are the largest.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "max(arange(6), axis=0)",
      .reference = "np.max(x, axis=axis, keepdims=keepdims)",
      .dtypes = Real | Boolean,
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

struct Min {
  static constexpr OpInfo info{
      .name = "min",
      .doc =
          "The smallest element over the given axes (all of them for None); NaN where there is one. ValueError "
          "for an axis of length 0. The gradient is shared evenly by all elements that are the smallest.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "min(arange(6), axis=0)",
      .reference = "np.min(x, axis=axis, keepdims=keepdims)",
      .dtypes = Real | Boolean,
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

struct ArgMax {
  static constexpr OpInfo info{
      .name = "argmax",
      .doc =
          "The position (int64) of the first largest element along an axis, or in the flattened tensor for None. "
          "The first NaN counts as the largest. ValueError for an axis of length 0.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "argmax(arange(6))",
      .reference = "np.argmax(x, axis=axis, keepdims=keepdims)",
      .dtypes = Real | Boolean,
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims);
};

struct ArgMin {
  static constexpr OpInfo info{
      .name = "argmin",
      .doc =
          "The position (int64) of the first smallest element along an axis, or in the flattened tensor for None. "
          "The first NaN counts as the smallest. ValueError for an axis of length 0.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "argmin(arange(6))",
      .reference = "np.argmin(x, axis=axis, keepdims=keepdims)",
      .dtypes = Real | Boolean,
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims);
};

struct Any {
  static constexpr OpInfo info{
      .name = "any",
      .doc = "True if an element over the given axes (all of them for None) is not 0. False for no elements.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "any(zeros([2, 3]), axis=1)",
      .reference = "np.any(x, axis=axis, keepdims=keepdims)",
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

struct All {
  static constexpr OpInfo info{
      .name = "all",
      .doc = "True if no element over the given axes (all of them for None) is 0. True for no elements.",
      .parameters = "x, /, axis=None, keepdims=False",
      .example = "all(ones([2, 3]), axis=1)",
      .reference = "np.all(x, axis=axis, keepdims=keepdims)",
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

struct CountNonzero {
  static constexpr OpInfo info{
      .name = "count_nonzero",
      .doc =
          "The number of elements over the given axes (all of them for None) that are not 0, as int64. NaN is not 0.",
      .parameters = "x, /, *, axis=None, keepdims=False",
      .example = "count_nonzero(eye(3), axis=1)",
      .reference = "np.count_nonzero(x, axis=axis, keepdims=keepdims)",
      .asks_device = true};
  static Tensor call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

inline Tensor max(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false) {
  return Max::call(x, axis, keepdims);
}
inline Tensor max(const Tensor& x, std::int64_t axis, bool keepdims = false) {
  return Max::call(x, Dims{axis}, keepdims);
}
inline Tensor min(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false) {
  return Min::call(x, axis, keepdims);
}
inline Tensor min(const Tensor& x, std::int64_t axis, bool keepdims = false) {
  return Min::call(x, Dims{axis}, keepdims);
}
inline Tensor argmax(const Tensor& x, std::optional<std::int64_t> axis = std::nullopt, bool keepdims = false) {
  return ArgMax::call(x, axis, keepdims);
}
inline Tensor argmin(const Tensor& x, std::optional<std::int64_t> axis = std::nullopt, bool keepdims = false) {
  return ArgMin::call(x, axis, keepdims);
}
inline Tensor any(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false) {
  return Any::call(x, axis, keepdims);
}
inline Tensor all(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false) {
  return All::call(x, axis, keepdims);
}
inline Tensor count_nonzero(const Tensor& x, const std::optional<Dims>& axis = std::nullopt, bool keepdims = false) {
  return CountNonzero::call(x, axis, keepdims);
}

}  // namespace lamella
