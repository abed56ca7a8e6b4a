#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

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

struct AllClose {
  static constexpr OpInfo info{.name = "allclose",
                               .doc = "True if isclose() holds for all elements: a 0-d bool tensor.",
                               .parameters = "a, b, /, *, rtol=1e-05, atol=1e-08, equal_nan=False",
                               .example = "allclose(ones([2]), full([2], 1.000001))",
                               .reference = "np.allclose(a, b)"};
  static Tensor call(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan);
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

inline Tensor allclose(const Operand& a, const Operand& b, double rtol = 1e-5, double atol = 1e-8,
                       bool equal_nan = false) {
  return AllClose::call(a, b, rtol, atol, equal_nan);
}

}  // namespace lamella
