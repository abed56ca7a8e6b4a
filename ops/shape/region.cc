#include "ops/shape/region.h"

#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

std::int64_t clamp(std::int64_t value, std::int64_t low, std::int64_t high) {
  return std::min(std::max(value, low), high);
}

/// Resolves a slice of an axis of `size` elements, by the rules of Python's slice.indices().
Region::Axis read_slice(const Slice& slice, std::int64_t source, std::int64_t size) {
  const std::int64_t step = slice.step;
  if (step == 0) fail<ValueError>("[index] slice step cannot be zero");
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto bound = [&](const std::optional<std::int64_t>& given, std::int64_t missing) {
    if (!given) return missing;
    return clamp(*given < 0 ? *given + size : *given, low, high);
  };
  const std::int64_t start = bound(slice.start, step > 0 ? low : high);
  const std::int64_t stop = bound(slice.stop, step > 0 ? high : low);
  std::int64_t count = 0;
  // Unsigned, because the smallest integer has no negation.
  if (step > 0 && stop > start) count = (stop - start - 1) / step + 1;
  if (step < 0 && stop < start) {
    count = static_cast<std::int64_t>(static_cast<std::uint64_t>(start - stop - 1) /
                                      (0 - static_cast<std::uint64_t>(step))) +
            1;
  }
  return {source, count > 0 ? start : 0, count > 1 ? step : 1, count, true};
}

Region::Axis read_integer(std::int64_t index, std::int64_t source, std::int64_t size) {
  if (index < -size || index >= size) {
    fail<IndexError>("[index] index ", index, " is out of range for axis ", source, " of size ", size);
  }
  return {source, index < 0 ? index + size : index, 1, 1, false};
}

/// Returns a tensor of the given shape that is x in the region and zero elsewhere: the gradient of a slice.
struct PlaceFn : LinearOperatorLayer<PlaceFn> {
  static constexpr std::string_view name = "place";

  static Tensor forward(Context& ctx, const Tensor& x, const Region* region, const Dims* shape) {
    ctx.state<Region>() = *region;
    const Tensor result = empty_beside(x, *shape, x.dtype(), x.device());
    write_value(result, 0, "index");
    write_values(region->of(result), x, "index");
    return result;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return slice(dy, ctx.state<Region>()); }
};

struct SliceFn : LinearOperatorLayer<SliceFn> {
  static constexpr std::string_view name = "slice";

  static Tensor forward(Context& ctx, const Tensor& x, const Region* region) {
    if (ctx.recording()) {
      ctx.state<Region>() = *region;
      ctx.input_metas.emplace_back(x);
    }
    const Tensor part = region->of(x);
    return make_view(x, part.shape(), part.strides(), element_offset(x, *region));
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    return PlaceFn::apply(dy, &std::as_const(ctx.state<Region>()), &std::as_const(ctx.input_metas[0].shape));
  }

 private:
  static std::int64_t element_offset(const Tensor& x, const Region& region) {
    std::int64_t offset = 0;
    for (const Region::Axis& axis : region.axes) {
      if (axis.source >= 0 && axis.count > 0) offset += axis.start * x.strides()[static_cast<std::size_t>(axis.source)];
    }
    return x.numel() == 0 ? 0 : offset;
  }
};

}  // namespace

bool Region::is_whole(DimsView shape) const {
  if (axes.size() != shape.size()) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    const bool whole = axis.source == static_cast<std::int64_t>(i) && axis.start == 0 && axis.step == 1 &&
                       axis.count == shape[i] && axis.keep;
    if (!whole) return false;
  }
  return true;
}

Tensor Region::of(const Tensor& x) const {
  Dims shape;
  Dims strides;
  std::int64_t offset = 0;
  for (const Axis& axis : axes) {
    if (axis.source < 0) {
      shape.push_back(1);
      strides.push_back(0);
      continue;
    }
    const std::int64_t stride = x.strides()[static_cast<std::size_t>(axis.source)];
    if (axis.count > 0) offset += axis.start * stride;
    if (axis.keep) {
      shape.push_back(axis.count);
      strides.push_back(stride * axis.step);
    }
  }
  return make_view(x, shape, strides, x.numel() == 0 ? 0 : offset);
}

Region basic_region(DimsView shape, const IndexItems& items) {
  std::size_t consumed = 0;
  std::size_t ellipses = 0;
  for (const IndexItem& item : items) {
    consumed += std::holds_alternative<std::int64_t>(item) || std::holds_alternative<Slice>(item);
    ellipses += std::holds_alternative<Ellipsis>(item);
  }
  if (ellipses > 1) fail<IndexError>("[index] an index can have only one ellipsis ('...')");
  if (consumed > shape.size()) {
    fail<IndexError>("[index] too many indices: ", consumed, " for a tensor with ", shape.size(),
                     shape.size() == 1 ? " axis" : " axes");
  }
  Region region;
  std::int64_t axis = 0;
  const auto whole = [&] {
    region.axes.push_back({axis, 0, 1, shape[static_cast<std::size_t>(axis)], true});
    ++axis;
  };
  for (const IndexItem& item : items) {
    if (const auto* integer = std::get_if<std::int64_t>(&item)) {
      region.axes.push_back(read_integer(*integer, axis, shape[static_cast<std::size_t>(axis)]));
      ++axis;
    } else if (const auto* part = std::get_if<Slice>(&item)) {
      region.axes.push_back(read_slice(*part, axis, shape[static_cast<std::size_t>(axis)]));
      ++axis;
    } else if (std::holds_alternative<NewAxis>(item)) {
      region.axes.push_back({-1, 0, 1, 1, true});
    } else {
      for (std::size_t i = shape.size() - consumed; i > 0; --i) whole();
    }
  }
  while (axis < static_cast<std::int64_t>(shape.size())) whole();
  return region;
}

Tensor slice(const Tensor& x, const Region& region) { return SliceFn::apply(x, &region); }

}  // namespace lamella
