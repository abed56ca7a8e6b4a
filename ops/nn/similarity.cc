#include "ops/nn/similarity.h"

#include <cmath>

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/linalg/norms.h"
#include "ops/movement/cast.h"
#include "ops/movement/halves.h"
#include "ops/reduce/power_norm.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {

Tensor CosineSimilarity::call(const Tensor& x1, const Tensor& x2, std::int64_t axis, double eps) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<CosineSimilarity>(x1, x2, axis, eps);
  if (any_half(x1, x2)) [[unlikely]]
    return call_in_float32<CosineSimilarity>(x1, x2, axis, eps);
  const Tensor a = as_floating(x1, info.name);
  const Tensor b = as_floating(x2, info.name);
  const Dims shape = broadcast_shapes(a.shape(), b.shape(), info.name);
  const auto ndim = static_cast<std::int64_t>(shape.size());
  if (ndim == 0) return CosineSimilarity::call(reshape(a, {1}), reshape(b, {1}), axis, eps);
  const std::int64_t at = normalize_axis(axis, shape.size(), info.name) - ndim;
  const std::int64_t length = shape[shape.size() - static_cast<std::size_t>(-at)];
  const auto normalized = [&](const Tensor& x) {
    const bool missing = static_cast<std::int64_t>(x.ndim()) < -at;
    const std::int64_t own = missing ? 1 : x.size(at);
    Tensor norm = missing ? abs(x) : power_norm(x, {normalize_axis(at, x.ndim(), info.name)}, true, 2);
    // A single element counts once per repetition.
    if (own != length) norm = norm * std::sqrt(static_cast<double>(length));
    return x / cast(clip(norm, Operand(eps), std::nullopt), x.dtype());
  };
  return sum(normalized(a) * normalized(b), at);
}

Tensor PairwiseDistance::call(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdims) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<PairwiseDistance>(x1, x2, p, eps, keepdims);
  if (any_half(x1, x2)) [[unlikely]]
    return call_in_float32<PairwiseDistance>(x1, x2, p, eps, keepdims);
  if (std::isnan(p)) fail<ValueError>("[pairwise_distance] p must be a number, got NaN");
  if (are_wide_integers(x1, x2)) {
    return cast(call(cast(x1, DType::Float64), cast(x2, DType::Float64), p, eps, keepdims), kDefaultFloat);
  }
  const Tensor difference = as_inexact(x1, info.name) - as_inexact(x2, info.name) + eps;
  if (difference.ndim() == 0) fail<ValueError>("[pairwise_distance] x1 and x2 need an axis, got 0-d tensors");
  return linalg::vector_norm(difference, Dims{-1}, keepdims, p);
}

}  // namespace lamella
