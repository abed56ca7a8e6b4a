#pragma once

#include <optional>

#include "ops/op_info.h"
#include "ops/operand.h"

// Elementwise functions composed of other operators.

namespace lamella {

struct Positive {
  static constexpr OpInfo info{.name = "positive",
                               .doc = "x itself.",
                               .example = "positive(ones([2]))",
                               .reference = "np.positive(x)",
                               .dtypes = Numeric,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct Deg2Rad {
  static constexpr OpInfo info{.name = "deg2rad",
                               .doc = "Degrees to radians: x * pi / 180.",
                               .example = "deg2rad(full([2], 90.0))",
                               .reference = "np.deg2rad(x)",
                               .dtypes = Floating,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct Rad2Deg {
  static constexpr OpInfo info{.name = "rad2deg",
                               .doc = "Radians to degrees: x * 180 / pi.",
                               .example = "rad2deg(full([2], 1.5))",
                               .reference = "np.rad2deg(x)",
                               .dtypes = Floating,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct Polygamma {
  static constexpr OpInfo info{.name = "polygamma",
                               .doc =
                                   "The n-th derivative of digamma, for n from 0 to 170 (else ValueError): n! times a "
                                   "sum of powers, which is 0 where it is below the numbers of float64.",
                               .parameters = "n, x, /",
                               .example = "polygamma(1, full([2], 0.5))",
                               .dtypes = Floating,
                               .method = false,
                               .out = true};
  static Tensor call(std::int64_t n, const Tensor& x);
};

struct IsClose {
  static constexpr OpInfo info{.name = "isclose",
                               .doc =
                                   "True where |a - b| <= atol + rtol * |b|. Infinities are close to themselves only; "
                                   "NaN is close to nothing, or to NaN with equal_nan.",
                               .parameters = "a, b, /, *, rtol=1e-05, atol=1e-08, equal_nan=False",
                               .example = "isclose(ones([2]), full([2], 1.000001))",
                               .reference = "np.isclose(a, b)"};
  static Tensor call(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan);
};

struct NanToNum {
  static constexpr OpInfo info{
      .name = "nan_to_num",
      .doc =
          "x with NaN replaced by `nan`, and infinity and minus infinity by `posinf` and `neginf`, or by the largest "
          "and the lowest number of the dtype if these are None. Replaced elements get no gradient.",
      .parameters = "x, /, nan=0.0, posinf=None, neginf=None",
      .example = "nan_to_num(full([2], float('nan')))",
      .reference = "np.nan_to_num(x)"};
  static Tensor call(const Tensor& x, double nan, const std::optional<double>& posinf,
                     const std::optional<double>& neginf);
};

inline Tensor positive(const Tensor& x) { return Positive::call(x); }
inline Tensor deg2rad(const Tensor& x) { return Deg2Rad::call(x); }
inline Tensor rad2deg(const Tensor& x) { return Rad2Deg::call(x); }
inline Tensor polygamma(std::int64_t n, const Tensor& x) { return Polygamma::call(n, x); }
inline Tensor isclose(const Operand& a, const Operand& b, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false) {
  return IsClose::call(a, b, rtol, atol, equal_nan);
}
inline Tensor nan_to_num(const Tensor& x, double nan = 0, const std::optional<double>& posinf = std::nullopt,
                         const std::optional<double>& neginf = std::nullopt) {
  return NanToNum::call(x, nan, posinf, neginf);
}

}  // namespace lamella
