#pragma once

#include <cstdint>
#include <optional>

#include "engine/core/tensor.h"
#include "engine/runtime/generator.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

// Distributions that overwrite their first argument with new numbers and return it. Parameters and errors are those of
// the functions without the underscore. The previous values do not matter: a recorded tensor becomes a constant. Throws
// RuntimeError for a leaf that requires a gradient, as every in-place operator does (use no_grad).

struct UniformInPlace {
  static constexpr OpInfo info{.name = "uniform_",
                               .doc = "Overwrites x with uniform numbers in [low, high); of complex ones both parts.",
                               .parameters = "x, low=0.0, high=1.0, *, generator=None",
                               .example = "zeros([2]).uniform_(-1.0, 1.0)",
                               .dtypes = Floating | Complex};
  static Tensor call(const Tensor& x, double low, double high, Generator* generator = nullptr);
};

struct NormalInPlace {
  static constexpr OpInfo info{.name = "normal_",
                               .doc =
                                   "Overwrites x with numbers of a normal distribution; of complex ones each part has "
                                   "half of the variance.",
                               .parameters = "x, mean=0.0, std=1.0, *, generator=None",
                               .example = "zeros([2]).normal_(0.0, 0.1)",
                               .dtypes = Floating | Complex};
  static Tensor call(const Tensor& x, double mean, double std, Generator* generator = nullptr);
};

struct ExponentialInPlace {
  static constexpr OpInfo info{.name = "exponential_",
                               .doc = "Overwrites x with numbers of an exponential distribution.",
                               .parameters = "x, rate=1.0, *, generator=None",
                               .example = "zeros([2]).exponential_()",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x, double rate, Generator* generator = nullptr);
};

struct BernoulliInPlace {
  static constexpr OpInfo info{
      .name = "bernoulli_",
      .doc =
          "Overwrites x with 1 where a trial succeeds and 0 elsewhere; p, a number or a tensor that broadcasts to "
          "x, is the probability.",
      .parameters = "x, p=0.5, *, generator=None",
      .example = "zeros([2]).bernoulli_(0.3)"};
  static Tensor call(const Tensor& x, const Operand& p, Generator* generator = nullptr);
};

struct RandomInPlace {
  static constexpr OpInfo info{
      .name = "random_",
      .doc =
          "Overwrites x with integers in [low, high). Without high they reach up to the largest integer of x's dtype, "
          "and for a floating one up to where it still has all integers (2^24 for float32).",
      .parameters = "x, low=0, high=None, *, generator=None",
      .example = "zeros([2]).random_(0, 10)",
      .dtypes = Real};
  static Tensor call(const Tensor& x, std::int64_t low, std::optional<std::int64_t> high,
                     Generator* generator = nullptr);
};

struct CauchyInPlace {
  static constexpr OpInfo info{.name = "cauchy_",
                               .doc = "Overwrites x with numbers of a Cauchy distribution.",
                               .parameters = "x, loc=0.0, scale=1.0, *, generator=None",
                               .example = "zeros([2]).cauchy_()",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x, double loc, double scale, Generator* generator = nullptr);
};

struct LogNormalInPlace {
  static constexpr OpInfo info{.name = "log_normal_",
                               .doc = "Overwrites x with numbers whose logarithm is normal.",
                               .parameters = "x, mean=1.0, std=2.0, *, generator=None",
                               .example = "zeros([2]).log_normal_(0.0, 0.25)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x, double mean, double std, Generator* generator = nullptr);
};

struct GeometricInPlace {
  static constexpr OpInfo info{.name = "geometric_",
                               .doc = "Overwrites x with the number of trials until one succeeds with probability p.",
                               .parameters = "x, p, *, generator=None",
                               .example = "zeros([2]).geometric_(0.5)",
                               .dtypes = Real};
  static Tensor call(const Tensor& x, double p, Generator* generator = nullptr);
};

inline Tensor uniform_(const Tensor& x, double low = 0, double high = 1, Generator* generator = nullptr) {
  return UniformInPlace::call(x, low, high, generator);
}
inline Tensor normal_(const Tensor& x, double mean = 0, double std = 1, Generator* generator = nullptr) {
  return NormalInPlace::call(x, mean, std, generator);
}
inline Tensor exponential_(const Tensor& x, double rate = 1, Generator* generator = nullptr) {
  return ExponentialInPlace::call(x, rate, generator);
}
inline Tensor bernoulli_(const Tensor& x, const Operand& p = 0.5, Generator* generator = nullptr) {
  return BernoulliInPlace::call(x, p, generator);
}
inline Tensor random_(const Tensor& x, std::int64_t low = 0, std::optional<std::int64_t> high = std::nullopt,
                      Generator* generator = nullptr) {
  return RandomInPlace::call(x, low, high, generator);
}
inline Tensor cauchy_(const Tensor& x, double loc = 0, double scale = 1, Generator* generator = nullptr) {
  return CauchyInPlace::call(x, loc, scale, generator);
}
inline Tensor log_normal_(const Tensor& x, double mean = 1, double std = 2, Generator* generator = nullptr) {
  return LogNormalInPlace::call(x, mean, std, generator);
}
inline Tensor geometric_(const Tensor& x, double p, Generator* generator = nullptr) {
  return GeometricInPlace::call(x, p, generator);
}

}  // namespace lamella
