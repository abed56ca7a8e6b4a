#pragma once

#include <cstdint>
#include <optional>

#include "engine/core/tensor.h"
#include "engine/runtime/generator.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

// Further distributions, with the conventions of random.h. Parameters are numbers or tensors.

struct Exponential {
  static constexpr OpInfo info{
      .name = "exponential",
      .doc =
          "Numbers of the exponential distribution with density rate exp(-rate x): -log(1 - u) / rate for a uniform u. "
          "Gradients flow to the rate.",
      .parameters = "shape=None, rate=1.0, *, dtype=None, device=None, generator=None",
      .example = "exponential([2, 3], 0.5)",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& rate, std::optional<DType> dtype,
                     std::optional<Device> device, Generator* generator = nullptr);
};

struct Laplace {
  static constexpr OpInfo info{
      .name = "laplace",
      .doc =
          "Numbers of the Laplace distribution with density exp(-|x - loc| / scale) / (2 scale). Gradients flow to loc "
          "and scale.",
      .parameters = "shape=None, loc=0.0, scale=1.0, *, dtype=None, device=None, generator=None",
      .example = "laplace([2, 3], 0.0, 2.0)",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& loc, const Operand& scale,
                     std::optional<DType> dtype, std::optional<Device> device, Generator* generator = nullptr);
};

struct Cauchy {
  static constexpr OpInfo info{
      .name = "cauchy",
      .doc =
          "Numbers of the Cauchy distribution with median loc and half width scale: loc + scale tan(pi (u - 1/2)) for "
          "a uniform u. Gradients flow to loc and scale.",
      .parameters = "shape=None, loc=0.0, scale=1.0, *, dtype=None, device=None, generator=None",
      .example = "cauchy([2, 3])",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& loc, const Operand& scale,
                     std::optional<DType> dtype, std::optional<Device> device, Generator* generator = nullptr);
};

struct LogNormal {
  static constexpr OpInfo info{
      .name = "log_normal",
      .doc = "Numbers whose logarithm is normal with the given mean and standard deviation. Gradients flow to both.",
      .parameters = "shape=None, mean=0.0, std=1.0, *, dtype=None, device=None, generator=None",
      .example = "log_normal([2, 3], 0.0, 0.25)",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& mean, const Operand& std,
                     std::optional<DType> dtype, std::optional<Device> device, Generator* generator = nullptr);
};

struct Geometric {
  static constexpr OpInfo info{
      .name = "geometric",
      .doc =
          "The number of trials until one succeeds, each with probability p in (0, 1]: 1, 2, 3 ..., in a floating or "
          "an integer dtype, and at most the largest number that it holds. Not differentiable.",
      .parameters = "shape=None, p=0.5, *, dtype=None, device=None, generator=None",
      .example = "geometric([2, 3], 0.25)",
      .dtypes = Real,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& p, std::optional<DType> dtype,
                     std::optional<Device> device, Generator* generator = nullptr);
};

struct TruncatedNormal {
  static constexpr OpInfo info{
      .name = "truncated_normal",
      .doc =
          "Numbers of the normal distribution with the given mean and standard deviation, under the condition that "
          "they lie in [low, high]; exact far out in the tails as well, by rejection (Robert, \"Simulation of "
          "truncated "
          "normal variables\", 1995). low and high may be infinite. Not differentiable.",
      .parameters = "shape=None, mean=0.0, std=1.0, low=-2.0, high=2.0, *, dtype=None, device=None, generator=None",
      .example = "truncated_normal([2, 3], 0.0, 1.0, -1.0, 1.0)",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& mean, const Operand& std, const Operand& low,
                     const Operand& high, std::optional<DType> dtype, std::optional<Device> device,
                     Generator* generator = nullptr);
};

struct Gamma {
  static constexpr OpInfo info{
      .name = "gamma",
      .doc =
          "Numbers of the gamma distribution with density proportional to x^(concentration - 1) exp(-rate x) "
          "(Marsaglia and Tsang, \"A simple method for generating gamma variables\", 2000). Not differentiable.",
      .parameters = "shape=None, concentration=1.0, rate=1.0, *, dtype=None, device=None, generator=None",
      .example = "gamma([2, 3], 2.0)",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& concentration, const Operand& rate,
                     std::optional<DType> dtype, std::optional<Device> device, Generator* generator = nullptr);
};

struct Poisson {
  static constexpr OpInfo info{
      .name = "poisson",
      .doc =
          "For each element of x a number of the Poisson distribution with that rate, in x's dtype: by multiplication "
          "of uniform numbers below 10, above by transformed rejection (Hoermann, \"The transformed rejection method "
          "for generating Poisson random variables\", 1993). Not differentiable.",
      .parameters = "x, /, *, generator=None",
      .example = "poisson(full([2, 3], 4.0))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, Generator* generator = nullptr);
};

struct Multinomial {
  static constexpr OpInfo info{
      .name = "multinomial",
      .doc =
          "The positions of num_samples of the weights in each row of x, which has one or two axes, drawn with "
          "probabilities proportional to the weights; int64. Without replacement no position comes twice, and there "
          "must be that many weights above 0 (Efraimidis and Spirakis, \"Weighted random sampling with a reservoir\", "
          "2006). Not differentiable.",
      .parameters = "x, num_samples, replacement=False, *, generator=None",
      .example = "multinomial(ones([4]), 2)",
      .dtypes = Floating};
  static Tensor call(const Tensor& x, std::int64_t num_samples, bool replacement, Generator* generator = nullptr);
};

struct Permutation {
  static constexpr OpInfo info{.name = "permutation",
                               .doc = "x with its slices along an axis in random order.",
                               .parameters = "x, /, axis=0, *, generator=None",
                               .example = "permutation(ones([4, 2]))",
                               .method = false};
  static Tensor call(const Tensor& x, std::int64_t axis, Generator* generator = nullptr);
};

struct RandLike {
  static constexpr OpInfo info{.name = "rand_like",
                               .doc = "Uniform numbers in [0, 1) in x's shape, and its dtype and device by default.",
                               .parameters = "x, /, *, dtype=None, device=None, generator=None",
                               .example = "rand_like(zeros([2, 3]))",
                               .method = false};
  static Tensor call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device,
                     Generator* generator = nullptr);
};

struct RandnLike {
  static constexpr OpInfo info{
      .name = "randn_like",
      .doc = "Numbers of the standard normal distribution in x's shape, and its dtype and device by default.",
      .parameters = "x, /, *, dtype=None, device=None, generator=None",
      .example = "randn_like(zeros([2, 3]))",
      .method = false};
  static Tensor call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device,
                     Generator* generator = nullptr);
};

inline Tensor exponential(const Dims& shape, const Operand& rate = 1.0, std::optional<DType> dtype = std::nullopt,
                          std::optional<Device> device = std::nullopt, Generator* generator = nullptr) {
  return Exponential::call(shape, rate, dtype, device, generator);
}
inline Tensor laplace(const Dims& shape, const Operand& loc = 0.0, const Operand& scale = 1.0,
                      std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                      Generator* generator = nullptr) {
  return Laplace::call(shape, loc, scale, dtype, device, generator);
}
inline Tensor cauchy(const Dims& shape, const Operand& loc = 0.0, const Operand& scale = 1.0,
                     std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                     Generator* generator = nullptr) {
  return Cauchy::call(shape, loc, scale, dtype, device, generator);
}
inline Tensor log_normal(const Dims& shape, const Operand& mean = 0.0, const Operand& std = 1.0,
                         std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                         Generator* generator = nullptr) {
  return LogNormal::call(shape, mean, std, dtype, device, generator);
}
inline Tensor geometric(const Dims& shape, const Operand& p = 0.5, std::optional<DType> dtype = std::nullopt,
                        std::optional<Device> device = std::nullopt, Generator* generator = nullptr) {
  return Geometric::call(shape, p, dtype, device, generator);
}
inline Tensor truncated_normal(const Dims& shape, const Operand& mean = 0.0, const Operand& std = 1.0,
                               const Operand& low = -2.0, const Operand& high = 2.0,
                               std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                               Generator* generator = nullptr) {
  return TruncatedNormal::call(shape, mean, std, low, high, dtype, device, generator);
}
inline Tensor gamma(const Dims& shape, const Operand& concentration = 1.0, const Operand& rate = 1.0,
                    std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                    Generator* generator = nullptr) {
  return Gamma::call(shape, concentration, rate, dtype, device, generator);
}
inline Tensor poisson(const Tensor& x, Generator* generator = nullptr) { return Poisson::call(x, generator); }
inline Tensor multinomial(const Tensor& x, std::int64_t num_samples, bool replacement = false,
                          Generator* generator = nullptr) {
  return Multinomial::call(x, num_samples, replacement, generator);
}
inline Tensor permutation(const Tensor& x, std::int64_t axis = 0, Generator* generator = nullptr) {
  return Permutation::call(x, axis, generator);
}
inline Tensor rand_like(const Tensor& x, std::optional<DType> dtype = std::nullopt,
                        std::optional<Device> device = std::nullopt, Generator* generator = nullptr) {
  return RandLike::call(x, dtype, device, generator);
}
inline Tensor randn_like(const Tensor& x, std::optional<DType> dtype = std::nullopt,
                         std::optional<Device> device = std::nullopt, Generator* generator = nullptr) {
  return RandnLike::call(x, dtype, device, generator);
}

}  // namespace lamella
