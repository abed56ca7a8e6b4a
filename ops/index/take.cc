#include "ops/index/take.h"

#include "ops/creation/creation.h"
#include "ops/index/index.h"
#include "ops/index/picks.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"

namespace lamella {

Tensor Take::call(const Tensor& x, const Tensor& indices, std::optional<std::int64_t> axis) {
  if (!axis && x.ndim() != 1) fail<ValueError>("[take] axis must be given for a tensor with ", x.ndim(), " axes");
  const std::int64_t at = normalize_axis(axis.value_or(0), x.ndim(), "take");
  IndexItems items(static_cast<std::size_t>(at), Slice{});
  items.emplace_back(as_index(indices, "take"));
  return index(x, items);
}

Tensor TakeAlongAxis::call(const Tensor& x, const Tensor& indices, std::int64_t axis) {
  if (x.ndim() != indices.ndim()) {
    fail<ValueError>("[take_along_axis] x has ", x.ndim(), " axes, indices ", indices.ndim());
  }
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.ndim(), "take_along_axis"));
  // Along all other axes each place picks itself.
  Dims common = x.shape();
  Dims picked = indices.shape();
  common[at] = picked[at] = 1;
  Dims shape = broadcast_shapes(common, picked, "take_along_axis");
  Dims source = shape;
  source[at] = x.shape()[at];
  shape[at] = indices.shape()[at];
  const Tensor expanded = source == x.shape() ? x : broadcast_to(x, source);
  IndexItems items;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == at) {
      items.emplace_back(as_index(indices, "take_along_axis"));
      continue;
    }
    Dims place(shape.size(), 1);
    place[i] = shape[i];
    items.emplace_back(reshape(arange(0, Scalar(shape[i]), 1, DType::Int64, x.device()), place));
  }
  return index(expanded, items);
}

}  // namespace lamella
