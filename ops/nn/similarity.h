#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct CosineSimilarity {
  static constexpr OpInfo info{.name = "cosine_similarity",
                               .doc =
                                   "The cosine of the angle between x1 and x2, which broadcast, along an axis: their "
                                   "dot product divided by the product of their norms, each at least eps.",
                               .parameters = "x1, x2, /, axis=1, eps=1e-8",
                               .example = "cosine_similarity(ones([2, 3]), ones([2, 3]))",
                               .dtypes = Floating,
                               .method = false,
                               .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x1, const Tensor& x2, std::int64_t axis, double eps);
};

struct PairwiseDistance {
  static constexpr OpInfo info{
      .name = "pairwise_distance",
      .doc =
          "The p-norm of x1 - x2 + eps along the last axis, as vector_norm has it for any p. Where it is 0 and p above "
          "0 its derivative is 0.",
      .parameters = "x1, x2, /, p=2.0, eps=1e-6, keepdims=False",
      .example = "pairwise_distance(ones([2, 3]), zeros([2, 3]))",
      .dtypes = Floating | Complex,
      .method = false,
      .autocast = Autocast::Float32};
  /// Throws ValueError if p is NaN, and for 0-d tensors.
  static Tensor call(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdims);
};

inline Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t axis = 1, double eps = 1e-8) {
  return CosineSimilarity::call(x1, x2, axis, eps);
}
inline Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6,
                                bool keepdims = false) {
  return PairwiseDistance::call(x1, x2, p, eps, keepdims);
}

}  // namespace lamella
