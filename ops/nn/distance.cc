#include "ops/nn/distance.h"

#include <cmath>

#include "ops/elementwise/list.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"

namespace lamella {

Tensor CosineSimilarity::call(const Tensor& x1, const Tensor& x2, std::int64_t axis, double eps) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<CosineSimilarity>(x1, x2, axis, eps);
  const Tensor a = as_floating(x1, info.name);
  const Tensor b = as_floating(x2, info.name);
  const std::size_t ndim = broadcast_shapes(a.shape(), b.shape(), info.name).size();
  const auto at = static_cast<std::int64_t>(normalize_axis(axis, ndim, info.name)) - static_cast<std::int64_t>(ndim);
  // The bound is put on the squares: the root of one that is not below it has a derivative.
  const auto norm = [&](const Tensor& x) {
    const bool missing = static_cast<std::int64_t>(x.ndim()) < -at;
    return sqrt(clip(missing ? square(x) : sum(square(x), at, true), Operand(eps * eps), std::nullopt));
  };
  return sum(a * b / (norm(a) * norm(b)), at);
}

Tensor PairwiseDistance::call(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdims) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<PairwiseDistance>(x1, x2, p, eps, keepdims);
  if (!(p > 0)) fail<ValueError>("[pairwise_distance] p must be above 0, got ", p);
  const Tensor d = as_floating(x1, info.name) - as_floating(x2, info.name) + eps;
  if (d.ndim() == 0) fail<ValueError>("[pairwise_distance] x1 and x2 need an axis, got 0-d tensors");
  if (p == 1) return sum(abs(d), -1, keepdims);
  if (std::isinf(p)) return max(abs(d), -1, keepdims);
  const Tensor total = sum(p == 2 ? square(d) : pow(abs(d), p), -1, keepdims);
  const Tensor none = total == 0;
  const Tensor positive = where(none, 1, total);
  return where(none, 0, p == 2 ? sqrt(positive) : pow(positive, 1 / p));
}

}  // namespace lamella
