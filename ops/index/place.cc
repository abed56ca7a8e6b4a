#include "ops/index/place.h"

#include <algorithm>

#include "ops/index/gather.h"
#include "ops/index/insert.h"
#include "ops/index/nonzero.h"
#include "ops/index/select.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/region.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/promotion.h"

namespace lamella {
namespace {

/// Returns `src` cast to x's dtype; throws TypeError if that would lose values.
Tensor in_dtype_of(const Tensor& x, const Tensor& src, const char* op) {
  check_defined(src, op);
  check_same_device(x, src, op);
  if (src.dtype() != x.dtype() && !can_cast(src.dtype(), x.dtype()))
    fail<TypeError>("[", op, "] values of dtype ", src.dtype(), " cannot be written into a tensor of dtype ",
                    x.dtype());
  return cast(src, x.dtype());
}

void check_part(const Tensor& src, const Dims& shape, const char* op) {
  if (src.shape() != shape) fail<ValueError>("[", op, "] src must have the shape ", shape, ", got ", src.shape());
}

/// The region of a slice.
struct Part {
  Region region;

  Tensor of(const Tensor& x) const { return region.of(x); }
  Tensor part(const Tensor& x) const { return slice(x, region); }
};

/// Returns a copy of x in which `count` slices along an axis, from `first` on and `step` apart, are replaced.
Tensor insert(const Tensor& x, std::int64_t axis, std::int64_t first, std::int64_t step, std::int64_t count,
              const Tensor& values) {
  Part part{basic_region(x.shape(), {})};
  Region::Axis& along = part.region.axes[static_cast<std::size_t>(axis)];
  along = {axis, count > 0 ? first : 0, count > 1 ? step : 1, count, true};
  return InsertFn<Part>::apply(x, values, &std::as_const(part));
}

}  // namespace

Tensor SelectScatter::call(const Tensor& x, const Tensor& src, std::int64_t axis, std::int64_t index) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  const std::int64_t size = x.size(at);
  if (index < -size || index >= size)
    fail<IndexError>("[select_scatter] index ", index, " is out of range for axis ", at, " of size ", size);
  Dims shape = x.shape();
  shape.erase(shape.begin() + at);
  check_part(src, shape, info.name);
  return insert(x, at, index < 0 ? index + size : index, 1, 1, expand_dims(in_dtype_of(x, src, info.name), at));
}

Tensor SliceScatter::call(const Tensor& x, const Tensor& src, std::int64_t axis, std::optional<std::int64_t> start,
                          std::optional<std::int64_t> stop, std::int64_t step) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  if (step < 1) fail<ValueError>("[slice_scatter] step must be at least 1, got ", step);
  const std::int64_t size = x.size(at);
  const auto bounded = [size](std::int64_t i) { return std::clamp(i < 0 ? i + size : i, std::int64_t{0}, size); };
  const std::int64_t first = bounded(start.value_or(0));
  const std::int64_t end = std::max(first, bounded(stop.value_or(size)));
  const std::int64_t count = end > first ? (end - first - 1) / step + 1 : 0;
  Dims shape = x.shape();
  shape[static_cast<std::size_t>(at)] = count;
  check_part(src, shape, info.name);
  return insert(x, at, first, step, count, in_dtype_of(x, src, info.name));
}

Tensor Put::call(const Tensor& x, const Tensor& indices, const Tensor& values, bool accumulate) {
  check_defined(x, info.name);
  check_defined(indices, info.name);
  check_defined(values, info.name);
  if (indices.numel() != values.numel()) {
    fail<ValueError>("[put] indices and values must be of the same size, got the shapes ", indices.shape(), " and ",
                     values.shape());
  }
  if (!is_integral(indices.dtype())) fail<TypeError>("[put] indices must be integers, got dtype ", indices.dtype());
  const Tensor flat = index_put(reshape(x, {-1}), {reshape(indices, {-1})},
                                reshape(in_dtype_of(x, values, info.name), {-1}), accumulate);
  return reshape(flat, x.shape());
}

Tensor IndexReduce::call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source,
                         std::string_view reduce, bool include_self) {
  check_defined(x, info.name);
  check_defined(index, info.name);
  check_defined(source, info.name);
  const std::int64_t at = normalize_axis(axis, std::max<std::size_t>(1, x.ndim()), info.name);
  if (index.ndim() != 1) fail<ValueError>("[index_reduce] index must have one axis, got shape ", index.shape());
  if (x.ndim() == 0) {
    return reshape(call(reshape(x, {1}), 0, index, reshape(source, {-1}), reduce, include_self), Dims{});
  }
  Dims shape = x.shape();
  shape[static_cast<std::size_t>(at)] = index.numel();
  check_part(source, shape, info.name);
  Dims row(x.ndim(), 1);
  row[static_cast<std::size_t>(at)] = index.numel();
  return scatter_reduce(x, at, broadcast_to(reshape(index, row), shape), source, reduce, include_self);
}

Tensor ArgWhere::call(const Tensor& x) {
  check_defined(x, info.name);
  return true_places(x, info.name);
}

}  // namespace lamella
