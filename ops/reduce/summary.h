#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Statistics composed of several reductions.

namespace lamella {

struct VarMean {
  static constexpr OpInfo info{
      .name = "var_mean",
      .doc = "The variance and the mean of the elements along the axes, or of all: var(x, ..) and mean(x, ..).",
      .parameters = "x, /, axis=None, correction=0.0, keepdims=False",
      .example = "var_mean(arange(4.0))",
      .dtypes = Floating | Complex};
  static constexpr const char* kFields[] = {"var", "mean"};
  static std::vector<Tensor> call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims);
};

struct StdMean {
  static constexpr OpInfo info{
      .name = "std_mean",
      .doc =
          "The standard deviation and the mean of the elements along the axes, or of all: std(x, ..) and mean(x, ..).",
      .parameters = "x, /, axis=None, correction=0.0, keepdims=False",
      .example = "std_mean(arange(4.0))",
      .dtypes = Floating | Complex};
  static constexpr const char* kFields[] = {"std", "mean"};
  static std::vector<Tensor> call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims);
};

struct AMinMax {
  static constexpr OpInfo info{.name = "aminmax",
                               .doc = "The smallest and the largest element along the axes, or of all.",
                               .parameters = "x, /, *, axis=None, keepdims=False",
                               .example = "aminmax(arange(4))",
                               .dtypes = Real | Boolean};
  static constexpr const char* kFields[] = {"min", "max"};
  static std::vector<Tensor> call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims);
};

struct Trapezoid {
  static constexpr OpInfo info{.name = "trapezoid",
                               .doc =
                                   "The integral along an axis by the trapezoidal rule, of values y at the places x, "
                                   "or dx apart: x has one axis, "
                                   "or broadcasts with y.",
                               .parameters = "y, /, x=None, *, dx=1.0, axis=-1",
                               .example = "trapezoid(asarray([1.0, 2.0, 4.0]))",
                               .reference = "np.trapezoid(y, x, dx, axis)",
                               .dtypes = Floating | Complex};
  static Tensor call(const Tensor& y, const std::optional<Tensor>& x, double dx, std::int64_t axis);
};

struct CumulativeTrapezoid {
  static constexpr OpInfo info{
      .name = "cumulative_trapezoid",
      .doc =
          "The integrals from the first place to each of the others by the trapezoidal rule: one element less than y "
          "along the axis (see trapezoid).",
      .parameters = "y, /, x=None, *, dx=1.0, axis=-1",
      .example = "cumulative_trapezoid(asarray([1.0, 2.0, 4.0]))",
      .dtypes = Floating | Complex};
  static Tensor call(const Tensor& y, const std::optional<Tensor>& x, double dx, std::int64_t axis);
};

struct Cov {
  static constexpr OpInfo info{
      .name = "cov",
      .doc =
          "The covariances of the rows of a matrix, one for each variable, with a column for each observation; a "
          "vector is one row. `fweights` says how often each observation was made, `aweights` how much it counts; the "
          "sums are divided by the number less `correction`. Of one variable the result is a 0-d tensor.",
      .parameters = "x, /, *, correction=1, fweights=None, aweights=None",
      .example = "cov(asarray([[1.0, 2.0, 4.0], [2.0, 1.0, 0.0]]))",
      .reference = "np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)",
      .dtypes = Floating | Complex};
  /// Throws ValueError for more than two axes, or for weights that are negative or of another length.
  static Tensor call(const Tensor& x, std::int64_t correction, const std::optional<Tensor>& fweights,
                     const std::optional<Tensor>& aweights);
};

struct CorrCoef {
  static constexpr OpInfo info{
      .name = "corrcoef",
      .doc =
          "The correlations of the rows of a matrix: cov(x) divided by the standard deviations of both rows, limited "
          "to [-1, 1].",
      .example = "corrcoef(asarray([[1.0, 2.0, 4.0], [2.0, 1.0, 0.0]]))",
      .reference = "np.corrcoef(x)",
      .dtypes = Floating | Complex};
  static Tensor call(const Tensor& x);
};

struct Bucketize {
  static constexpr OpInfo info{
      .name = "bucketize",
      .doc =
          "The number of the interval between `boundaries`, a vector in ascending order, that contains each element of "
          "x. Intervals are open to the left and closed to the right, or vice versa with `right`.",
      .parameters = "x, boundaries, /, *, right=False",
      .example = "bucketize(asarray([0.5, 2.0]), asarray([1.0, 2.0]))",
      .reference = "np.searchsorted(boundaries, x, 'right' if right else 'left')",
      .dtypes = Real | Boolean};
  static Tensor call(const Tensor& x, const Tensor& boundaries, bool right);
};

}  // namespace lamella
