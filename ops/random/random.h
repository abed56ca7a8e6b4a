#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "engine/runtime/generator.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

// Random tensors. Element i depends only on the generator's seed, its offset and i: the numbers are the same for any
// number of threads. Integers and uniforms are built from bits and are the same on every device; normals use log and
// cos and agree up to rounding.
//
// Without a generator, the default generator of the tensor's device is used. Throws ValueError for a generator of
// another device; on meta nothing is drawn.
//
// Distributions take their parameters as numbers or tensors. Tensors broadcast, and determine shape and dtype if none
// is given; throws ValueError if they do not broadcast to `shape`. Gradients flow to the parameters of distributions
// that scale and shift numbers of a fixed distribution. On the CPU a parameter outside of the distribution's domain
// throws ValueError.

struct Rand {
  static constexpr OpInfo info{.name = "rand",
                               .doc = "Uniform numbers in [0, 1); of complex ones both parts.",
                               .parameters = "shape, *, dtype=None, device=None, generator=None",
                               .example = "rand([2, 3])",
                               .dtypes = Floating | Complex,
                               .method = false};
  static Tensor call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device,
                     Generator* generator = nullptr);
};

struct Randn {
  static constexpr OpInfo info{
      .name = "randn",
      .doc =
          "Numbers of the standard normal distribution, by the method of Box and Muller (1958); of complex ones each "
          "part has the variance 1/2.",
      .parameters = "shape, *, dtype=None, device=None, generator=None",
      .example = "randn([2, 3])",
      .dtypes = Floating | Complex,
      .method = false};
  static Tensor call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device,
                     Generator* generator = nullptr);
};

struct Uniform {
  static constexpr OpInfo info{
      .name = "uniform",
      .doc =
          "Uniform numbers in [low, high). Where low or high is a tensor, rounding may reach "
          "high, and gradients flow to both.",
      .parameters = "shape=None, low=0.0, high=1.0, *, dtype=None, device=None, generator=None",
      .example = "uniform([2, 3], -1.0, 1.0)",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& low, const Operand& high,
                     std::optional<DType> dtype, std::optional<Device> device, Generator* generator = nullptr);
};

struct Normal {
  static constexpr OpInfo info{
      .name = "normal",
      .doc =
          "Numbers of the normal distribution with the given mean and standard deviation. "
          "Gradients flow to both.",
      .parameters = "shape=None, mean=0.0, std=1.0, *, dtype=None, device=None, generator=None",
      .example = "normal([2, 3], 0.0, 0.1)",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const std::optional<Dims>& shape, const Operand& mean, const Operand& std,
                     std::optional<DType> dtype, std::optional<Device> device, Generator* generator = nullptr);
};

struct RandInt {
  static constexpr OpInfo info{.name = "randint",
                               .doc = "Integers in [low, high), each equally likely up to 2^-64 of the range.",
                               .parameters = "low, high, shape, *, dtype=None, device=None, generator=None",
                               .example = "randint(0, 10, [2, 3])",
                               .dtypes = Integral,
                               .method = false};
  static Tensor call(std::int64_t low, std::int64_t high, const Dims& shape, std::optional<DType> dtype,
                     std::optional<Device> device, Generator* generator = nullptr);
};

struct RandIntLike {
  static constexpr OpInfo info{.name = "randint_like",
                               .doc =
                                   "Integers in [low, high), as randint gives, in x's shape, and its dtype and device "
                                   "by default; x holds integers then.",
                               .parameters = "x, low, high, /, *, dtype=None, device=None, generator=None",
                               .example = "randint_like(zeros([2, 3], dtype='int64'), 0, 10)",
                               .method = false};
  static Tensor call(const Tensor& x, std::int64_t low, std::int64_t high, std::optional<DType> dtype,
                     std::optional<Device> device, Generator* generator = nullptr);
};

struct RandPerm {
  static constexpr OpInfo info{.name = "randperm",
                               .doc = "The integers from 0 to n - 1 in random order (Fisher and Yates).",
                               .parameters = "n, *, dtype=None, device=None, generator=None",
                               .example = "randperm(5)",
                               .dtypes = Integral,
                               .method = false};
  static Tensor call(std::int64_t n, std::optional<DType> dtype, std::optional<Device> device,
                     Generator* generator = nullptr);
};

struct Bernoulli {
  static constexpr OpInfo info{
      .name = "bernoulli",
      .doc = "1 with the probability that each element of x gives, else 0, in x's dtype. Not differentiable.",
      .parameters = "x, /, *, generator=None",
      .example = "bernoulli(full([4], 0.5))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, Generator* generator = nullptr);
};

/// A shape that may be missing; no braced list is one, so that `{2, 3}` means Dims to every compiler.
template <class T>
concept MaybeDims = std::same_as<T, std::optional<Dims>> || std::same_as<T, std::nullopt_t>;

inline Tensor rand(const Dims& shape, std::optional<DType> dtype = std::nullopt,
                   std::optional<Device> device = std::nullopt, Generator* generator = nullptr) {
  return Rand::call(shape, dtype, device, generator);
}
inline Tensor randn(const Dims& shape, std::optional<DType> dtype = std::nullopt,
                    std::optional<Device> device = std::nullopt, Generator* generator = nullptr) {
  return Randn::call(shape, dtype, device, generator);
}
template <MaybeDims Shape>
Tensor uniform(const Shape& shape, const Operand& low = 0.0, const Operand& high = 1.0,
               std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
               Generator* generator = nullptr) {
  return Uniform::call(shape, low, high, dtype, device, generator);
}
inline Tensor uniform(const Dims& shape, const Operand& low = 0.0, const Operand& high = 1.0,
                      std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                      Generator* generator = nullptr) {
  return uniform(std::optional(shape), low, high, dtype, device, generator);
}
template <MaybeDims Shape>
Tensor normal(const Shape& shape, const Operand& mean = 0.0, const Operand& std = 1.0,
              std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
              Generator* generator = nullptr) {
  return Normal::call(shape, mean, std, dtype, device, generator);
}
inline Tensor normal(const Dims& shape, const Operand& mean = 0.0, const Operand& std = 1.0,
                     std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                     Generator* generator = nullptr) {
  return normal(std::optional(shape), mean, std, dtype, device, generator);
}
inline Tensor randint(std::int64_t low, std::int64_t high, const Dims& shape, std::optional<DType> dtype = std::nullopt,
                      std::optional<Device> device = std::nullopt, Generator* generator = nullptr) {
  return RandInt::call(low, high, shape, dtype, device, generator);
}
inline Tensor randint_like(const Tensor& x, std::int64_t low, std::int64_t high,
                           std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                           Generator* generator = nullptr) {
  return RandIntLike::call(x, low, high, dtype, device, generator);
}
inline Tensor randperm(std::int64_t n, std::optional<DType> dtype = std::nullopt,
                       std::optional<Device> device = std::nullopt, Generator* generator = nullptr) {
  return RandPerm::call(n, dtype, device, generator);
}
inline Tensor bernoulli(const Tensor& x, Generator* generator = nullptr) { return Bernoulli::call(x, generator); }

}  // namespace lamella
