#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

// Random tensors. Element i is a function of the generator's seed, its offset and i alone: the same numbers for any
// number of threads. Integers and uniforms are made of bits, and are the same on every device; normals go through log
// and cos, and agree to rounding.

struct Rand {
  static constexpr OpInfo info{.name = "rand",
                               .doc = "Uniform numbers in [0, 1).",
                               .parameters = "shape, *, dtype=None, device=None",
                               .example = "rand([2, 3])",
                               .dtypes = Floating,
                               .method = false};
  static Tensor call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device);
};

struct Randn {
  static constexpr OpInfo info{
      .name = "randn",
      .doc = "Numbers of the standard normal distribution, by the method of Box and Muller (1958).",
      .parameters = "shape, *, dtype=None, device=None",
      .example = "randn([2, 3])",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device);
};

struct Uniform {
  static constexpr OpInfo info{.name = "uniform",
                               .doc = "Uniform numbers in [low, high).",
                               .parameters = "shape, low=0.0, high=1.0, *, dtype=None, device=None",
                               .example = "uniform([2, 3], -1.0, 1.0)",
                               .dtypes = Floating,
                               .method = false};
  static Tensor call(const Dims& shape, double low, double high, std::optional<DType> dtype,
                     std::optional<Device> device);
};

struct Normal {
  static constexpr OpInfo info{.name = "normal",
                               .doc = "Numbers of the normal distribution with the given mean and standard deviation.",
                               .parameters = "shape, mean=0.0, std=1.0, *, dtype=None, device=None",
                               .example = "normal([2, 3], 0.0, 0.1)",
                               .dtypes = Floating,
                               .method = false};
  static Tensor call(const Dims& shape, double mean, double std, std::optional<DType> dtype,
                     std::optional<Device> device);
};

struct RandInt {
  static constexpr OpInfo info{.name = "randint",
                               .doc = "Integers in [low, high), each equally likely up to 2^-64 of the range.",
                               .parameters = "low, high, shape, *, dtype=None, device=None",
                               .example = "randint(0, 10, [2, 3])",
                               .dtypes = Integral,
                               .method = false};
  static Tensor call(std::int64_t low, std::int64_t high, const Dims& shape, std::optional<DType> dtype,
                     std::optional<Device> device);
};

struct RandPerm {
  static constexpr OpInfo info{.name = "randperm",
                               .doc = "The integers from 0 to n - 1 in random order (Fisher and Yates).",
                               .parameters = "n, *, dtype=None, device=None",
                               .example = "randperm(5)",
                               .dtypes = Integral,
                               .method = false};
  static Tensor call(std::int64_t n, std::optional<DType> dtype, std::optional<Device> device);
};

struct Bernoulli {
  static constexpr OpInfo info{
      .name = "bernoulli",
      .doc = "1 with the probability that each element of x gives, else 0, in x's dtype. Not differentiable.",
      .parameters = "x, /",
      .example = "bernoulli(full([4], 0.5))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x);
};

inline Tensor rand(const Dims& shape, std::optional<DType> dtype = std::nullopt,
                   std::optional<Device> device = std::nullopt) {
  return Rand::call(shape, dtype, device);
}
inline Tensor randn(const Dims& shape, std::optional<DType> dtype = std::nullopt,
                    std::optional<Device> device = std::nullopt) {
  return Randn::call(shape, dtype, device);
}
inline Tensor uniform(const Dims& shape, double low = 0, double high = 1, std::optional<DType> dtype = std::nullopt,
                      std::optional<Device> device = std::nullopt) {
  return Uniform::call(shape, low, high, dtype, device);
}
inline Tensor normal(const Dims& shape, double mean = 0, double std = 1, std::optional<DType> dtype = std::nullopt,
                     std::optional<Device> device = std::nullopt) {
  return Normal::call(shape, mean, std, dtype, device);
}
inline Tensor randint(std::int64_t low, std::int64_t high, const Dims& shape, std::optional<DType> dtype = std::nullopt,
                      std::optional<Device> device = std::nullopt) {
  return RandInt::call(low, high, shape, dtype, device);
}
inline Tensor randperm(std::int64_t n, std::optional<DType> dtype = std::nullopt,
                       std::optional<Device> device = std::nullopt) {
  return RandPerm::call(n, dtype, device);
}
inline Tensor bernoulli(const Tensor& x) { return Bernoulli::call(x); }

/// Starts the default generator's stream of `seed`: what follows is the same from run to run.
void seed(std::uint64_t seed);

}  // namespace lamella
