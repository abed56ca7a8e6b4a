#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct CumulativeSum {
  static constexpr OpInfo info{
      .name = "cumulative_sum",
      .doc =
          "The running sums along an axis, which may be left out for a tensor with one axis only; with "
          "include_initial, a 0 before them. Signed integers and bools are added as int64, unsigned integers as "
          "uint64, floating values in float64. With a dtype, x is cast to it first.",
      .parameters = "x, /, *, axis=None, dtype=None, include_initial=False",
      .example = "cumulative_sum(arange(4), include_initial=True)",
      .out = true,
      .in_place = true};
  static Tensor call(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype,
                     bool include_initial);
};

struct CumulativeProd {
  static constexpr OpInfo info{.name = "cumulative_prod",
                               .doc =
                                   "The running products along an axis, which may be left out for a tensor with one "
                                   "axis only; with include_initial, a 1 before them. The dtypes are those of "
                                   "cumulative_sum. The gradient is exact where there are zeros, too.",
                               .parameters = "x, /, *, axis=None, dtype=None, include_initial=False",
                               .example = "cumulative_prod(full([3], 2.0))",
                               .out = true,
                               .in_place = true};
  static Tensor call(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype,
                     bool include_initial);
};

struct CumSum {
  static constexpr OpInfo info{.name = "cumsum",
                               .doc = "cumulative_sum under PyTorch's name.",
                               .parameters = "x, /, axis, *, dtype=None",
                               .example = "cumsum(arange(4), 0)",
                               .reference = "np.cumsum(x, axis)"};
  static Tensor call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype);
};

struct CumProd {
  static constexpr OpInfo info{.name = "cumprod",
                               .doc = "cumulative_prod under PyTorch's name.",
                               .parameters = "x, /, axis, *, dtype=None",
                               .example = "cumprod(full([3], 2.0), 0)",
                               .reference = "np.cumprod(x, axis)"};
  static Tensor call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype);
};

struct LogCumSumExp {
  static constexpr OpInfo info{
      .name = "logcumsumexp",
      .doc = "The logarithm of the running sums of exponentials along an axis, without overflow.",
      .parameters = "x, /, axis",
      .example = "logcumsumexp(zeros([3]), 0)",
      .reference = "np.logaddexp.accumulate(x, axis)",
      .dtypes = Floating | Complex};
  static Tensor call(const Tensor& x, std::int64_t axis);
};

struct CumMax {
  static constexpr OpInfo info{
      .name = "cummax",
      .doc =
          "The running maximum along an axis, and its position (int64), the last one of equal elements. From the first "
          "NaN on it is NaN. The gradient goes to the element at the position.",
      .parameters = "x, /, axis",
      .example = "cummax(arange(3), 0)",
      .dtypes = Real | Boolean};
  static constexpr const char* kFields[] = {"values", "indices"};
  static std::vector<Tensor> call(const Tensor& x, std::int64_t axis);
};

struct CumMin {
  static constexpr OpInfo info{
      .name = "cummin",
      .doc =
          "The running minimum along an axis, and its position (int64), the last one of equal elements. From the first "
          "NaN on it is NaN. The gradient goes to the element at the position.",
      .parameters = "x, /, axis",
      .example = "cummin(arange(3), 0)",
      .dtypes = Real | Boolean};
  static constexpr const char* kFields[] = {"values", "indices"};
  static std::vector<Tensor> call(const Tensor& x, std::int64_t axis);
};

struct Diff {
  static constexpr OpInfo info{
      .name = "diff",
      .doc =
          "The differences of neighbors along an axis, taken n times, with `prepend` and `append`, which have x's "
          "shape except for the axis, added at its ends first. For bools, true where neighbors differ.",
      .parameters = "x, /, *, axis=-1, n=1, prepend=None, append=None",
      .example = "diff(arange(4) * arange(4))",
      .reference = "np.diff(x, axis=axis, n=n)"};
  static Tensor call(const Tensor& x, std::int64_t axis, std::int64_t n, const std::optional<Tensor>& prepend,
                     const std::optional<Tensor>& append);
};

inline Tensor cumulative_sum(const Tensor& x, std::optional<std::int64_t> axis = std::nullopt,
                             std::optional<DType> dtype = std::nullopt, bool include_initial = false) {
  return CumulativeSum::call(x, axis, dtype, include_initial);
}
inline Tensor cumulative_prod(const Tensor& x, std::optional<std::int64_t> axis = std::nullopt,
                              std::optional<DType> dtype = std::nullopt, bool include_initial = false) {
  return CumulativeProd::call(x, axis, dtype, include_initial);
}
inline Tensor cumsum(const Tensor& x, std::int64_t axis, std::optional<DType> dtype = std::nullopt) {
  return CumSum::call(x, axis, dtype);
}
inline Tensor cumprod(const Tensor& x, std::int64_t axis, std::optional<DType> dtype = std::nullopt) {
  return CumProd::call(x, axis, dtype);
}
inline Tensor logcumsumexp(const Tensor& x, std::int64_t axis) { return LogCumSumExp::call(x, axis); }
inline std::vector<Tensor> cummax(const Tensor& x, std::int64_t axis) { return CumMax::call(x, axis); }
inline std::vector<Tensor> cummin(const Tensor& x, std::int64_t axis) { return CumMin::call(x, axis); }
inline Tensor diff(const Tensor& x, std::int64_t axis = -1, std::int64_t n = 1,
                   const std::optional<Tensor>& prepend = std::nullopt,
                   const std::optional<Tensor>& append = std::nullopt) {
  return Diff::call(x, axis, n, prepend, append);
}

}  // namespace lamella
