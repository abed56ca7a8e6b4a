#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Norms of differences, and scaling by norms. The derivative of a distance is 0 where the distance is 0.

namespace lamella {

struct Cdist {
  static constexpr OpInfo info{
      .name = "cdist",
      .doc =
          "The p-norms of the differences between each row of x1, [.., n, size], and each row of x2, [.., m, size]: a "
          "matrix [.., n, m]; leading axes broadcast. p is at least 0, or infinite.",
      .parameters = "x1, x2, /, p=2.0",
      .example = "cdist(ones([2, 3]), zeros([4, 3]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x1, const Tensor& x2, double p);
};

struct Pdist {
  static constexpr OpInfo info{.name = "pdist",
                               .doc =
                                   "The p-norms of the differences between all pairs of rows of a matrix: the upper "
                                   "triangle of cdist(x, x), row by row.",
                               .parameters = "x, /, p=2.0",
                               .example = "pdist(eye(3))",
                               .dtypes = Floating,
                               .method = false,
                               .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x, double p);
};

struct Dist {
  static constexpr OpInfo info{.name = "dist",
                               .doc = "The p-norm of x1 - x2, which broadcast, over all elements.",
                               .parameters = "x1, x2, /, p=2.0",
                               .example = "dist(ones([2, 3]), zeros([3]))",
                               .dtypes = Floating | Complex,
                               .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x1, const Tensor& x2, double p);
};

struct Normalize {
  static constexpr OpInfo info{.name = "normalize",
                               .doc = "x divided by its p-norms along the axes, each taken as at least eps.",
                               .parameters = "x, /, p=2.0, axis=1, eps=1e-12",
                               .example = "normalize(ones([2, 3]))",
                               .dtypes = Floating | Complex,
                               .method = false};
  static Tensor call(const Tensor& x, double p, const Dims& axis, double eps);
};

struct Renorm {
  static constexpr OpInfo info{
      .name = "renorm",
      .doc = "x with each slice along an axis whose p-norm exceeds maxnorm scaled down to that norm.",
      .parameters = "x, p, axis, maxnorm",
      .example = "renorm(ones([2, 3]), 1.0, 0, 2.0)",
      .dtypes = Floating | Complex};
  /// Throws ValueError if p is not above 0 or maxnorm is negative.
  static Tensor call(const Tensor& x, double p, std::int64_t axis, double maxnorm);
};

}  // namespace lamella
