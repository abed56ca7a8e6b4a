#include "ops/transforms/vmap.h"

#include <algorithm>
#include <utility>

#include "engine/core/error.h"
#include "engine/runtime/generator.h"
#include "ops/shape/hide.h"
#include "ops/shape/join.h"

namespace lamella::autograd {
namespace {

/// Returns one axis for each of `count` tensors.
MappedAxes spread_axes(const MappedAxes& axes, std::size_t count, const char* what) {
  if (axes.size() == 1) return MappedAxes(count, axes[0]);
  if (axes.size() != count) {
    fail<ValueError>("[vmap] ", what, " has ", axes.size(), " entries for ", count,
                     count == 1 ? " tensor" : " tensors");
  }
  return axes;
}

/// Returns the size of the mapped axes.
std::int64_t batch_size(std::span<const Tensor> args, const MappedAxes& axes) {
  std::optional<std::size_t> first;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::optional<std::int64_t> mapped = axes[i];
    if (!mapped) continue;
    if (!args[i].defined()) fail<ValueError>("[vmap] argument ", i, " is undefined");
    const auto axis = static_cast<std::size_t>(normalize_axis(*mapped, args[i].ndim(), "vmap"));
    const std::int64_t own = args[i].shape()[axis];
    if (!first) {
      first = i;
      size = own;
    } else if (own != size) {
      fail<ValueError>("[vmap] the mapped axes must have one size: argument ", *first, " has ", size, ", argument ", i,
                       " has ", own);
    }
  }
  if (!first) fail<ValueError>("[vmap] no argument is mapped over: in_axes has no axis");
  return size;
}

std::vector<Tensor> map_once(const TensorFunction& function, const VmapOptions& options, std::span<const Tensor> args,
                             const MappedAxes& in_axes, std::int64_t size) {
  const VmapScope scope(size, options.randomness);
  std::vector<Tensor> examples(args.begin(), args.end());
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::optional<std::int64_t> axis = in_axes[i];
    if (axis) examples[i] = hide_axis(args[i], *axis, scope.level());
  }
  std::vector<Tensor> results = function(examples);
  const MappedAxes out_axes = spread_axes(options.out_axes, results.size(), "out_axes");
  for (std::size_t i = 0; i < results.size(); ++i) {
    Tensor& y = results[i];
    if (!y.defined()) fail<ValueError>("[vmap] result ", i, " of the function is undefined");
    const std::optional<std::int64_t> axis = out_axes[i];
    if (axis) {
      const Tensor shown = show_axis(y, scope.level(), size);
      y = move_axis(shown, 0, *axis, "vmap");
    } else if (y->hidden && y->hidden->back().level == scope.level()) {
      fail<ValueError>("[vmap] result ", i, " differs from example to example: it needs an axis in out_axes");
    }
  }
  return results;
}

std::vector<Tensor> map_in_chunks(const TensorFunction& function, const VmapOptions& options,
                                  std::span<const Tensor> args, const MappedAxes& in_axes, std::int64_t size,
                                  std::int64_t chunk) {
  if (chunk < 1) fail<ValueError>("[vmap] chunk_size must be positive, got ", chunk);
  // Restores the generators before each chunk, so that random numbers that are the same for all examples are the same
  // in each chunk.
  const std::vector<DeviceRngState> random =
      options.randomness == Randomness::Same ? rng_states() : std::vector<DeviceRngState>();
  std::vector<std::vector<Tensor>> parts;
  for (std::int64_t begin = 0; begin < size; begin += chunk) {
    if (options.randomness == Randomness::Same) restore_rng_states(random);
    const std::int64_t count = std::min(chunk, size - begin);
    std::vector<Tensor> part(args.begin(), args.end());
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::optional<std::int64_t> axis = in_axes[i];
      if (axis) part[i] = narrow(part[i], *axis, begin, count);
    }
    parts.push_back(map_once(function, options, part, in_axes, count));
  }
  std::vector<Tensor> results;
  const MappedAxes out_axes = spread_axes(options.out_axes, parts[0].size(), "out_axes");
  for (std::size_t i = 0; i < out_axes.size(); ++i) {
    const std::optional<std::int64_t> axis = out_axes[i];
    std::vector<Tensor> pieces;
    pieces.reserve(parts.size());
    for (std::vector<Tensor>& part : parts) pieces.push_back(std::move(part[i]));
    if (axis) {
      results.push_back(concat(pieces, axis));
    } else {
      results.push_back(std::move(pieces[0]));
    }
  }
  return results;
}

}  // namespace

TensorFunction vmap(TensorFunction function, VmapOptions options) {
  return [function = std::move(function), options = std::move(options)](std::span<const Tensor> args) {
    const MappedAxes in_axes = spread_axes(options.in_axes, args.size(), "in_axes");
    const std::int64_t size = batch_size(args, in_axes);
    const std::optional<std::int64_t> chunk = options.chunk_size;
    if (!chunk || size == 0) return map_once(function, options, args, in_axes, size);
    return map_in_chunks(function, options, args, in_axes, size, *chunk);
  };
}

std::function<Tensor(const Tensor&)> vmap(std::function<Tensor(const Tensor&)> function, VmapOptions options) {
  TensorFunction mapped = vmap(
      [function = std::move(function)](std::span<const Tensor> args) { return std::vector<Tensor>{function(args[0])}; },
      std::move(options));
  return [mapped = std::move(mapped)](const Tensor& x) { return mapped(std::span(&x, 1))[0]; };
}

}  // namespace lamella::autograd
