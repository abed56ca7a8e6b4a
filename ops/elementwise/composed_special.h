#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

// Special functions and predicates composed of other operators.

namespace lamella {

struct IsPosInf {
  static constexpr OpInfo info{.name = "isposinf",
                               .doc = "True where x is infinity.",
                               .example = "isposinf(full([2], float('inf')))",
                               .reference = "np.isposinf(x)",
                               .dtypes = Real | Boolean,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct IsNegInf {
  static constexpr OpInfo info{.name = "isneginf",
                               .doc = "True where x is minus infinity.",
                               .example = "isneginf(full([2], float('-inf')))",
                               .reference = "np.isneginf(x)",
                               .dtypes = Real | Boolean,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct IsReal {
  static constexpr OpInfo info{.name = "isreal",
                               .doc = "True where x is a real number: its imaginary part is 0, or it has none.",
                               .example = "isreal(full([2], 1j))",
                               .reference = "np.isreal(x)",
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct Xlog1py {
  static constexpr OpInfo info{.name = "xlog1py",
                               .doc = "a * log(1 + b), and 0 where a is 0 and b is not NaN.",
                               .parameters = "a, b, /",
                               .example = "xlog1py(zeros([2]), full([2], -1.0))",
                               .reference = "sp.xlog1py(a, b)",
                               .dtypes = Floating,
                               .out = true};
  static Tensor call(const Operand& a, const Operand& b);
};

struct Entr {
  static constexpr OpInfo info{.name = "entr",
                               .doc = "-x * log(x), a term of an entropy: 0 at 0, minus infinity below.",
                               .reference = "sp.entr(x)",
                               .dtypes = Floating,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct Ndtr {
  static constexpr OpInfo info{
      .name = "ndtr",
      .doc = "The distribution function of the standard normal distribution: erfc(-x / sqrt(2)) / 2.",
      .example = "ndtr(zeros([2]))",
      .reference = "sp.ndtr(x)",
      .dtypes = Floating,
      .out = true};
  static Tensor call(const Tensor& x);
};

struct MvLgamma {
  static constexpr OpInfo info{.name = "mvlgamma",
                               .doc =
                                   "The logarithm of the multivariate gamma function of dimension p (Wishart's): the "
                                   "sum of lgamma(x - j / 2) for "
                                   "j from 0 to p - 1, and p (p - 1) / 4 log(pi).",
                               .parameters = "x, p, /",
                               .example = "mvlgamma(full([2], 3.0), 2)",
                               .reference = "np.vectorize(lambda v: sp.multigammaln(v, p))(x)",
                               .dtypes = Floating,
                               .out = true};
  /// Throws ValueError if p is below 1.
  static Tensor call(const Tensor& x, std::int64_t p);
};

struct Ldexp {
  static constexpr OpInfo info{.name = "ldexp",
                               .doc = "x * 2 ** exponent.",
                               .parameters = "x, exponent, /",
                               .example = "ldexp(ones([2]), asarray([1, 3]))",
                               .dtypes = Floating | Complex,
                               .out = true};
  static Tensor call(const Tensor& x, const Tensor& exponent);
};

struct FloatPower {
  static constexpr OpInfo info{.name = "float_power",
                               .doc = "a ** b in float64, or in complex128 where one of them is complex.",
                               .parameters = "a, b, /",
                               .example = "float_power(asarray([2, 3]), -1)",
                               .reference = "np.float_power(a, b)",
                               .out = true};
  static Tensor call(const Operand& a, const Operand& b);
};

struct Gcd {
  static constexpr OpInfo info{.name = "gcd",
                               .doc = "The greatest common divisor of two integers, not negative; gcd(0, 0) is 0.",
                               .parameters = "a, b, /",
                               .example = "gcd(asarray([4, 6]), asarray([6, 9]))",
                               .reference = "np.gcd(a, b)",
                               .dtypes = Integral,
                               .out = true};
  static Tensor call(const Tensor& a, const Tensor& b);
};

struct Lcm {
  static constexpr OpInfo info{.name = "lcm",
                               .doc = "The least common multiple of two integers, not negative; 0 where one is 0.",
                               .parameters = "a, b, /",
                               .example = "lcm(asarray([4, 6]), asarray([6, 9]))",
                               .reference = "np.lcm(a, b)",
                               .dtypes = Integral,
                               .out = true};
  static Tensor call(const Tensor& a, const Tensor& b);
};

inline Tensor ldexp(const Tensor& x, const Tensor& exponent) { return Ldexp::call(x, exponent); }

}  // namespace lamella
