#include "ops/arrange/arrange.h"

#include <algorithm>

#include "engine/core/modes.h"
#include "ops/index/picks.h"
#include "ops/index/plan.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/region.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Checks the repeats of each slice and returns one count per slice, on the CPU.
Tensor checked_repeats(const Tensor& repeats, std::int64_t size) {
  if (repeats.ndim() > 1) fail<ValueError>("[repeat] repeats must have one axis, got shape ", repeats.shape());
  if (is_batched(repeats)) {
    fail<RuntimeError>(
        "[repeat] under vmap repeats must be the same for all examples: otherwise the result has no shape");
  }
  const Tensor counts = contiguous(to_device(as_index(repeats, "repeat"), kCPU));
  if (counts.numel() != size && counts.numel() != 1) {
    fail<ValueError>("[repeat] repeats has ", counts.numel(), " numbers for an axis of size ", size);
  }
  return contiguous(broadcast_to(reshape(counts, Dims{-1}), Dims{size}));
}

/// Returns for each slice of the result the number of the slice that it repeats.
Tensor repeated_numbers(const Tensor& counts) {
  const auto* const times = counts.data<std::int64_t>();
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < counts.numel(); ++i) {
    if (times[i] < 0) fail<ValueError>("[repeat] repeats must not be negative, got ", times[i]);
    if (__builtin_add_overflow(total, times[i], &total)) {
      fail<ValueError>("[repeat] the result has too many elements: repeats are up to ", times[i]);
    }
  }
  const Tensor numbers = empty({total}, DType::Int64);
  auto* to = numbers.data<std::int64_t>();
  for (std::int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, times[i], i);
  return numbers;
}

/// Returns a copy of the result if it shares x's memory.
Tensor own_copy(const Tensor& x, const Tensor& result) {
  return result->storage == x->storage ? clone(result) : result;
}

/// Returns x with a new axis of size `times` after `axis`, broadcast and merged with it.
Tensor widened(const Tensor& x, std::size_t axis, std::int64_t times) {
  Dims wide = x.shape();
  wide.insert(wide.begin() + axis + 1, times);
  Dims merged = x.shape();
  if (__builtin_mul_overflow(merged[axis], times, &merged[axis]))
    fail<ValueError>("[repeat] the result has too many elements: axis ", axis, " of size ", x.shape()[axis],
                     ", repeated ", times, " times");
  const Tensor apart = expand_dims(x, static_cast<std::int64_t>(axis) + 1);
  return own_copy(x, reshape(broadcast_to(apart, wide), merged));
}

/// Applies `change` to each tensor.
std::vector<Tensor> each(const std::vector<Tensor>& arrays, Tensor (*change)(const Tensor&), const char* op) {
  if (arrays.empty()) fail<ValueError>("[", op, "] needs at least one tensor");
  std::vector<Tensor> result;
  for (const Tensor& x : arrays) {
    check_defined(x, op);
    result.push_back(change(x));
  }
  return result;
}

}  // namespace

Tensor MoveAxis::call(const Tensor& x, const Dims& source, const Dims& destination) {
  check_defined(x, info.name);
  if (source.size() != destination.size()) {
    fail<ValueError>("[moveaxis] source ", source, " and destination ", destination, " must be of the same length");
  }
  // Both lists are checked for repeated axes.
  const Dims moved = normalize_axes(source, x.ndim(), info.name);
  normalize_axes(destination, x.ndim(), info.name);
  Dims order(x.ndim(), -1);
  for (std::size_t i = 0; i < source.size(); ++i) {
    order[static_cast<std::size_t>(normalize_axis(destination[i], x.ndim(), info.name))] =
        normalize_axis(source[i], x.ndim(), info.name);
  }
  std::int64_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while (std::ranges::find(moved, next) != moved.end()) ++next;
    axis = next++;
  }
  return permute_dims(x, order);
}

Tensor Repeat::call(const Tensor& x, const Operand& repeats, std::optional<std::int64_t> axis) {
  check_defined(x, info.name);
  if (!axis) return call(reshape(x, Dims{-1}), repeats, 0);
  const auto at = static_cast<std::size_t>(normalize_axis(*axis, x.ndim(), info.name));
  if (repeats.is_number()) {
    if (repeats.number().kind() != Scalar::Kind::Int)
      fail<TypeError>("[repeat] repeats must be an integer or a tensor");
    const auto times = repeats.number().to<std::int64_t>();
    if (times < 0) fail<ValueError>("[repeat] repeats must not be negative, got ", times);
    return widened(x, at, times);
  }
  check_defined(repeats.tensor(), info.name);
  check_same_device(x, repeats.tensor(), info.name);
  const Tensor numbers = repeated_numbers(checked_repeats(repeats.tensor(), x.shape()[at]));
  return pick(x, plan_along(at, to_device(numbers, x.device()), "repeat"));
}

Tensor Tile::call(const Tensor& x, const Dims& repetitions) {
  check_defined(x, info.name);
  for (const std::int64_t times : repetitions) {
    if (times < 0) fail<ValueError>("[tile] repetitions must not be negative, got ", repetitions);
  }
  Dims shape = x.shape();
  Dims times = repetitions;
  while (shape.size() < times.size()) shape.insert(shape.begin(), 1);
  while (times.size() < shape.size()) times.insert(times.begin(), 1);
  // Each axis becomes two, the first of which is broadcast.
  Dims apart;
  Dims wide;
  Dims merged;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    apart.push_back(1);
    apart.push_back(shape[i]);
    wide.push_back(times[i]);
    wide.push_back(shape[i]);
    merged.push_back(0);
    if (__builtin_mul_overflow(shape[i], times[i], &merged.back()))
      fail<ValueError>("[tile] the result has too many elements: an axis of size ", shape[i], ", repeated ", times[i],
                       " times");
  }
  count_elements(merged);
  return own_copy(x, reshape(broadcast_to(reshape(x, apart), wide), merged));
}

std::vector<Tensor> Unstack::call(const Tensor& x, std::int64_t axis) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  const std::int64_t size = checked_parts(info.name, x.size(at));
  if (size == 0) return {};
  std::vector<Tensor> parts = split(x, Dims(static_cast<std::size_t>(size), 1), at);
  for (Tensor& part : parts) part = squeeze(part, at);
  return parts;
}

std::vector<Tensor> Chunk::call(const Tensor& x, std::int64_t chunks, std::int64_t axis) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  if (chunks < 1) fail<ValueError>("[chunk] chunks must be at least 1, got ", chunks);
  const std::int64_t size = x.size(at);
  if (size == 0) return {narrow(x, at, 0, 0)};
  const std::int64_t part = (size - 1) / std::min(chunks, size) + 1;
  checked_parts(info.name, (size - 1) / part + 1);
  Dims sizes;
  for (std::int64_t start = 0; start < size; start += part) sizes.push_back(std::min(part, size - start));
  return split(x, sizes, at);
}

std::vector<Tensor> TensorSplit::call(const Tensor& x, const Cuts& indices_or_sections, std::int64_t axis) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  const std::int64_t size = x.size(at);
  std::vector<Tensor> parts;
  const Dims& numbers = indices_or_sections.numbers;
  if (indices_or_sections.is_count) {
    const std::int64_t sections = indices_or_sections.count(info.name);
    std::int64_t start = 0;
    for (std::int64_t i = 0; i < sections; ++i) {
      const std::int64_t length = size / sections + (i < size % sections);
      parts.push_back(narrow(x, at, start, length));
      start += length;
    }
    return parts;
  }
  const auto bounded = [&](std::int64_t cut) { return std::clamp(cut < 0 ? cut + size : cut, std::int64_t{0}, size); };
  std::int64_t start = 0;
  for (std::size_t i = 0; i <= numbers.size(); ++i) {
    const std::int64_t end = i < numbers.size() ? bounded(numbers[i]) : size;
    parts.push_back(narrow(x, at, std::min(start, size), std::max<std::int64_t>(0, end - start)));
    start = end;
  }
  return parts;
}

Tensor Narrow::call(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  const std::int64_t size = x.size(at);
  if (start < -size || start > size)
    fail<IndexError>("[narrow] start ", start, " is out of range for axis ", at, " of size ", size);
  const std::int64_t first = start < 0 ? start + size : start;
  if (length < 0) fail<ValueError>("[narrow] length must not be negative, got ", length);
  if (length > size - first) {
    fail<IndexError>("[narrow] ", length, " elements from ", start, " on are not within axis ", at, " of size ", size);
  }
  return narrow(x, at, first, length);
}

Tensor Select::call(const Tensor& x, std::int64_t axis, std::int64_t index) {
  check_defined(x, info.name);
  IndexItems items(static_cast<std::size_t>(normalize_axis(axis, x.ndim(), info.name)), Slice{});
  items.emplace_back(index);
  return slice(x, basic_region(x.shape(), items));
}

Tensor HStack::call(const std::vector<Tensor>& arrays) {
  const std::vector<Tensor> parts = each(arrays, AtLeast1d::call, info.name);
  return concat(parts, parts[0].ndim() == 1 ? 0 : 1);
}

Tensor VStack::call(const std::vector<Tensor>& arrays) { return concat(each(arrays, AtLeast2d::call, info.name), 0); }

Tensor AtLeast1d::call(const Tensor& x) {
  check_defined(x, info.name);
  return x.ndim() == 0 ? reshape(x, Dims{1}) : x;
}

Tensor AtLeast2d::call(const Tensor& x) {
  check_defined(x, info.name);
  if (x.ndim() >= 2) return x;
  return reshape(x, x.ndim() == 0 ? Dims{1, 1} : Dims{1, x.shape()[0]});
}

Tensor AtLeast3d::call(const Tensor& x) {
  check_defined(x, info.name);
  if (x.ndim() >= 3) return x;
  if (x.ndim() == 2) return reshape(x, Dims{x.shape()[0], x.shape()[1], 1});
  return reshape(x, x.ndim() == 0 ? Dims{1, 1, 1} : Dims{1, x.shape()[0], 1});
}

std::vector<Tensor> BroadcastArrays::call(const std::vector<Tensor>& arrays) {
  Dims shape;
  for (const Tensor& x : arrays) {
    check_defined(x, info.name);
    check_same_device(arrays[0], x, info.name);
    shape = broadcast_shapes(shape, x.shape(), info.name);
  }
  std::vector<Tensor> result;
  result.reserve(arrays.size());
  for (const Tensor& x : arrays) result.push_back(broadcast_to(x, shape));
  return result;
}

std::vector<Tensor> Meshgrid::call(const std::vector<Tensor>& arrays, std::string_view indexing) {
  if (indexing != "xy" && indexing != "ij")
    fail<ValueError>("[meshgrid] indexing must be 'xy' or 'ij', got '", indexing, "'");
  // Each result has as many axes as there are results, which limits their number.
  constexpr std::size_t kMost = 4096;
  if (arrays.size() > kMost) fail<ValueError>("[meshgrid] takes at most ", kMost, " tensors, got ", arrays.size());
  const bool exchanged = indexing == "xy" && arrays.size() > 1;
  Dims shape;
  for (const Tensor& x : arrays) {
    check_defined(x, info.name);
    check_same_device(arrays[0], x, info.name);
    if (x.ndim() > 1) fail<ValueError>("[meshgrid] the tensors must have one axis each, got shape ", x.shape());
    if (x.dtype() != arrays[0].dtype())
      fail<ValueError>("[meshgrid] the tensors must have one dtype, got ", arrays[0].dtype(), " and ", x.dtype());
    shape.push_back(x.numel());
  }
  if (exchanged) std::swap(shape[0], shape[1]);
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::size_t axis = exchanged && i < 2 ? 1 - i : i;
    Dims own(arrays.size(), 1);
    own[axis] = arrays[i].numel();
    result.push_back(broadcast_to(reshape(arrays[i], own), shape));
  }
  return result;
}

}  // namespace lamella
