#include "ops/index/take.h"

#include "ops/index/along.h"
#include "ops/index/plan.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {

Tensor Take::call(const Tensor& x, const Tensor& indices, std::optional<std::int64_t> axis) {
  check_defined(x, info.name);
  check_defined(indices, info.name);
  check_same_device(x, indices, info.name);
  if (!axis && x.ndim() != 1) return call(reshape(x, Dims{-1}), indices, 0);
  const std::int64_t at = normalize_axis(axis.value_or(0), x.ndim(), info.name);
  const auto along = static_cast<std::size_t>(at);
  return pick(x, plan_along(along, checked_numbers(indices, x.shape()[along], at, info.name), info.name));
}

Tensor TakeAlongAxis::call(const Tensor& x, const Tensor& indices, std::int64_t axis) {
  check_defined(x, info.name);
  check_defined(indices, info.name);
  if (x.ndim() != indices.ndim()) {
    fail<ValueError>("[take_along_axis] x has ", x.ndim(), " axes, indices ", indices.ndim());
  }
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.ndim(), info.name));
  // All other axes broadcast.
  Dims common = x.shape();
  Dims picked = indices.shape();
  common[at] = picked[at] = 1;
  Dims shape = broadcast_shapes(common, picked, info.name);
  Dims source = shape;
  source[at] = x.shape()[at];
  shape[at] = indices.shape()[at];
  const Tensor whole = broadcast_to(x, source);
  return gather_checked(whole, broadcast_to(indices, shape), axis, info.name, true);
}

}  // namespace lamella
