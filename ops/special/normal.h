#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/special/number_by_number.h"

// Functions of the normal distribution, and logit.

namespace lamella {

struct Erfcx : NumberByNumber {
  static constexpr OpInfo info{.name = "erfcx",
                               .doc = "exp(x * x) * erfc(x), accurate where that product overflows or is 0.",
                               .reference = "sp.erfcx(x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct Ndtri : NumberByNumber {
  static constexpr OpInfo info{
      .name = "ndtri",
      .doc = "The quantile function of the standard normal distribution, the inverse of ndtr. NaN outside of [0, 1].",
      .parameters = "p, /",
      .example = "ndtri(full([2], 0.25))",
      .reference = "sp.ndtri(p)",
      .dtypes = Floating,
      .sample_low = 0.01,
      .sample_high = 0.99};
  static Tensor call(const Tensor& p);
};

struct LogNdtr : NumberByNumber {
  static constexpr OpInfo info{.name = "log_ndtr",
                               .doc = "log(ndtr(x)), accurate where ndtr(x) is near 0 or 1.",
                               .example = "log_ndtr(zeros([2]))",
                               .reference = "sp.log_ndtr(x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct Logit {
  static constexpr OpInfo info{
      .name = "logit",
      .doc = "log(x / (1 - x)), the inverse of sigmoid; NaN outside [0, 1]. With eps, x is limited to [eps, 1 - eps].",
      .parameters = "x, /, eps=None",
      .example = "logit(full([2], 0.25))",
      .reference = "sp.logit(x)",
      .dtypes = Floating};
  static Tensor call(const Tensor& x, const std::optional<double>& eps);
};

}  // namespace lamella
