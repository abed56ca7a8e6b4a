#include "ops/shape/join.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/region.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

constexpr std::int64_t kAtOnce = 16384;  // elements per task

/// Returns the part of x from `start` along an axis, as a view off the tape.
Tensor part_of(const Tensor& x, std::size_t axis, std::int64_t start, std::int64_t length) {
  Dims shape = x.shape();
  shape[axis] = length;
  return make_view(x, shape, x.strides(), x.numel() > 0 && length > 0 ? start * x.strides()[axis] : 0);
}

/// Interleaves the elements of two tensors, as stack() along a last axis does.
bool write_alternating(const Tensor& out, const std::vector<Tensor>& arrays, std::size_t axis) {
  const std::size_t item = item_size(out.dtype());
  if (arrays.size() != 2 || (item != 4 && item != 8) || axis + 1 != out.ndim()) return false;
  for (const Tensor& x : arrays) {
    if (x.shape()[axis] != 1 || !x.is_contiguous()) return false;
  }
  const auto step = static_cast<std::int64_t>(item);
  const auto interleave = cpu_kernels().movement.interleave[item == 4 ? 0 : 1];
  const HostRelease release(out.numel());
  parallel_for(0, arrays[0].numel(), kAtOnce / 2, [&](std::int64_t begin, std::int64_t end) {
    interleave(arrays[0]->data + begin * step, arrays[1]->data + begin * step, out->data + begin * 2 * step,
               end - begin);
  });
  return true;
}

/// Returns the distance between x's rows, where a row is all axes from `axis` on, if rows are contiguous and the other
/// axes merge into one; otherwise nothing.
std::optional<std::int64_t> row_step(const Tensor& x, std::size_t axis) {
  std::int64_t width = 1;
  for (std::size_t i = x.ndim(); i-- > axis; width *= x.shape()[i]) {
    if (x.shape()[i] != 1 && x.strides()[i] != width) return std::nullopt;
  }
  std::optional<std::int64_t> step;
  std::int64_t next = 0;
  for (std::size_t i = axis; i-- > 0;) {
    if (x.shape()[i] == 1) continue;
    if (!step) {
      step = x.strides()[i];
    } else if (x.strides()[i] != next) {
      return std::nullopt;
    }
    next = x.strides()[i] * x.shape()[i];
  }
  return step.value_or(0);
}

/// Writes narrow rows, a few of each tensor in turn, so that every cache line is filled while it is in the cache.
bool write_rows(const Tensor& out, const std::vector<Tensor>& arrays, std::size_t axis) {
  constexpr std::int64_t kNarrow = 256;  // bytes of a row of one tensor
  constexpr std::int64_t kBytesAtOnce = 8192;
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const std::int64_t width = count_elements(DimsView(out.shape()).subspan(axis));
  const auto count = static_cast<std::int64_t>(arrays.size());
  if (count == 1 || width == 0 || width * item > kNarrow * count || out.numel() / width < 16) return false;
  const auto copy = cpu_kernels().movement.copy[std::countr_zero(static_cast<std::size_t>(item))];
  SmallVector<cpu::Copy2d, 4> parts;
  char* to = out->data;
  for (const Tensor& x : arrays) {
    const std::optional<std::int64_t> step = row_step(x, axis);
    if (!step) return false;
    const std::int64_t own = count_elements(DimsView(x.shape()).subspan(axis));
    parts.push_back({.to = to,
                     .from = x->data,
                     .inner = own,
                     .to_outer = width * item,
                     .to_inner = item,
                     .from_outer = *step * item,
                     .from_inner = item});
    to += own * item;
  }
  const std::int64_t at_once = std::max<std::int64_t>(16, kBytesAtOnce / (width * item));
  const std::int64_t grain = (std::max<std::int64_t>(1, kAtOnce / width) + at_once - 1) / at_once * at_once;
  const HostRelease release(out.numel());
  parallel_for(0, out.numel() / width, grain, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += at_once) {
      for (cpu::Copy2d part : parts) {
        if (part.inner == 0) continue;
        part.to += begin * part.to_outer;
        part.from += begin * part.from_outer;
        part.outer = std::min(at_once, end - begin);
        copy(part);
      }
    }
  });
  return true;
}

/// Writes tensors in host memory in one pass over the result; returns false if their layout does not allow it.
bool write_joined(const Tensor& out, const std::vector<Tensor>& arrays, std::size_t axis) {
  if (!out.device().is_cpu() || !out.is_contiguous() || is_batched(out)) return false;
  return write_alternating(out, arrays, axis) || write_rows(out, arrays, axis);
}

/// The sizes of the inputs along the joined axis, kept for backward.
struct Parts {
  std::size_t axis = 0;
  Dims sizes;
};

/// Joins inputs of one dtype and matching shapes. Each gradient is the input's part of dy, as a view.
struct ConcatLayer : LinearOperatorLayer<ConcatLayer> {
  static constexpr std::string_view name = "concat";

  static Tensor forward(Context& ctx, const std::vector<Tensor>& arrays, std::size_t axis) {
    Dims shape = arrays[0].shape();
    Dims sizes;
    for (const Tensor& x : arrays) sizes.push_back(x.shape()[axis]);
    shape[axis] = 0;
    for (const std::int64_t size : sizes) {
      if (__builtin_add_overflow(shape[axis], size, &shape[axis]))
        fail<ValueError>("[concat] the result has more elements along axis ", axis, " than can be counted");
    }
    SmallVector<const Tensor*, 4> inputs;
    for (const Tensor& x : arrays) inputs.push_back(&x);
    Tensor out = empty_beside(inputs, shape, arrays[0].dtype(), arrays[0].device());
    std::int64_t start = 0;
    const bool joined = write_joined(out, arrays, axis);
    for (std::size_t i = 0; i < arrays.size() && !joined; ++i) {
      write_values(part_of(out, axis, start, sizes[i]), arrays[i], "concat");
      start += sizes[i];
    }
    if (ctx.recording()) ctx.state<Parts>() = {axis, sizes};
    return out;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const Parts& parts = ctx.state<Parts>();
    TensorList grads(parts.sizes.size());
    std::int64_t start = 0;
    for (std::size_t i = 0; i < parts.sizes.size(); ++i) {
      if (autograd::is_needed(ctx.node()->edges()[i]))
        grads[i] = narrow(dy, static_cast<std::int64_t>(parts.axis), start, parts.sizes[i]);
      start += parts.sizes[i];
    }
    return grads;
  }
};

/// Splits a tensor with a single node for all parts, whose gradients are joined again.
struct SplitLayer : LinearOperatorLayer<SplitLayer> {
  static constexpr std::string_view name = "split";

  static std::vector<Tensor> forward(Context& ctx, const Tensor& x, const Dims& sizes, std::size_t axis) {
    if (ctx.recording()) {
      ctx.input_metas.emplace_back(x);
      ctx.state<Parts>() = {axis, sizes};
    }
    std::vector<Tensor> parts;
    std::int64_t start = 0;
    for (const std::int64_t size : sizes) {
      Dims shape = x.shape();
      shape[axis] = size;
      parts.push_back(make_view(x, shape, x.strides(), x.numel() > 0 && size > 0 ? start * x.strides()[axis] : 0));
      start += size;
    }
    return parts;
  }
  static Tensor backward(Context& ctx, const TensorList& grads) {
    const Parts& parts = ctx.state<Parts>();
    const TensorMeta& input = ctx.input_metas[0];
    std::vector<Tensor> pieces;
    for (std::size_t i = 0; i < parts.sizes.size(); ++i) {
      Dims shape = input.shape;
      shape[parts.axis] = parts.sizes[i];
      pieces.push_back(grads[i].defined() ? grads[i]
                                          : autograd::primitives().full(shape, input.dtype, input.device, 0.0));
    }
    return concat(pieces, static_cast<std::int64_t>(parts.axis));
  }
};

/// Returns the tensors in their common dtype.
std::vector<Tensor> promoted(const std::vector<Tensor>& arrays, const char* op) {
  if (arrays.empty()) fail<ValueError>("[", op, "] needs at least one tensor");
  for (const Tensor& x : arrays) check_defined(x, op);
  DType dtype = arrays[0].dtype();
  for (const Tensor& x : arrays) {
    check_same_device(arrays[0], x, op);
    dtype = promote_types(dtype, x.dtype());
  }
  std::vector<Tensor> result;
  result.reserve(arrays.size());
  for (const Tensor& x : arrays) result.push_back(cast(x, dtype));
  return result;
}

/// Returns the sizes of the parts that split() makes.
Dims part_sizes(const Tensor& x, const Cuts& cuts, std::size_t axis) {
  const std::int64_t size = x.shape()[axis];
  if (cuts.is_count) {
    const std::int64_t sections = cuts.count("split");
    if (size % sections != 0) {
      fail<ValueError>("[split] axis ", axis, " of size ", size, " cannot be split into ", sections, " equal parts");
    }
    return Dims(static_cast<std::size_t>(sections), size / sections);
  }
  Dims sizes = cuts.numbers;
  std::int64_t* unknown = nullptr;
  std::int64_t sum = 0;
  for (std::int64_t& part : sizes) {
    if (part == -1 && !unknown) {
      unknown = &part;
    } else if (part < 0 || __builtin_add_overflow(sum, part, &sum)) {
      fail<ValueError>("[split] sizes must not be negative, apart from a single -1, got ", cuts.numbers);
    }
  }
  if (unknown && sum <= size) {
    *unknown = size - sum;
    sum = size;
  }
  if (sum != size)
    fail<ValueError>("[split] sizes ", cuts.numbers, " do not add up to ", size, ", the size of axis ", axis);
  return sizes;
}

Tensor rolled(const Tensor& x, std::int64_t shift, std::int64_t axis) {
  const std::int64_t size = x.size(axis);
  const std::int64_t moved = size == 0 ? 0 : (shift % size + size) % size;
  if (moved == 0) return x;
  return concat({narrow(x, axis, size - moved, moved), narrow(x, axis, 0, size - moved)}, axis);
}

}  // namespace

Tensor Concat::call(const std::vector<Tensor>& arrays, std::optional<std::int64_t> axis) {
  std::vector<Tensor> parts = promoted(arrays, info.name);
  if (!axis) {
    for (Tensor& x : parts) x = reshape(x, {-1});
  }
  const Dims& first = parts[0].shape();
  if (first.empty()) fail<ValueError>("[concat] 0-d tensors have no axis to be joined along; use stack");
  const auto at = static_cast<std::size_t>(normalize_axis(axis.value_or(0), first.size(), info.name));
  for (const Tensor& x : parts) {
    bool fits = x.ndim() == first.size();
    for (std::size_t i = 0; fits && i < first.size(); ++i) fits = i == at || x.shape()[i] == first[i];
    if (!fits) fail<ValueError>("[concat] shapes ", first, " and ", x.shape(), " differ outside of axis ", at);
  }
  return ConcatLayer::apply(parts, at);
}

Tensor Stack::call(const std::vector<Tensor>& arrays, std::int64_t axis) {
  std::vector<Tensor> parts = promoted(arrays, info.name);
  const std::int64_t at = normalize_axis(axis, parts[0].ndim() + 1, info.name);
  for (const Tensor& x : parts) {
    if (x.shape() != parts[0].shape())
      fail<ValueError>("[stack] shapes ", parts[0].shape(), " and ", x.shape(), " differ");
  }
  for (Tensor& x : parts) x = expand_dims(x, at);
  return ConcatLayer::apply(parts, static_cast<std::size_t>(at));
}

std::vector<Tensor> Split::call(const Tensor& x, const Cuts& sections_or_sizes, std::int64_t axis) {
  check_defined(x, info.name);
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.ndim(), info.name));
  if (sections_or_sizes.numbers.empty()) fail<ValueError>("[split] needs at least one size");
  return SplitLayer::apply(x, part_sizes(x, sections_or_sizes, at), at);
}

Tensor Flip::call(const Tensor& x, const std::optional<Dims>& axis) {
  check_defined(x, info.name);
  IndexItems items(x.ndim(), Slice{});
  for (const std::int64_t a : normalize_axes(axis, x.ndim(), info.name))
    std::get<Slice>(items[static_cast<std::size_t>(a)]).step = -1;
  return slice(x, basic_region(x.shape(), items));
}

Tensor Roll::call(const Tensor& x, const Dims& shift, const std::optional<Dims>& axis) {
  check_defined(x, info.name);
  if (!axis) {
    if (shift.size() != 1)
      fail<ValueError>("[roll] several shifts need one axis each, got the shifts ", shift, " without axis");
    const Tensor flat = rolled(reshape(x, {-1}), shift[0], 0);
    return flat->storage == x->storage ? clone(x) : reshape(flat, x.shape());
  }
  if (shift.size() != axis->size() && shift.size() != 1 && axis->size() != 1)
    fail<ValueError>("[roll] shift and axis must have the same length, got ", shift, " and ", *axis);
  // A repeated axis is allowed: its shifts add up.
  Tensor result = x;
  for (std::size_t i = 0; i < std::max(shift.size(), axis->size()); ++i) {
    result = rolled(result, shift[shift.size() == 1 ? 0 : i],
                    normalize_axis((*axis)[axis->size() == 1 ? 0 : i], x.ndim(), info.name));
  }
  return result->storage == x->storage ? clone(x) : result;
}

Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  IndexItems items(x.ndim(), Slice{});
  items[static_cast<std::size_t>(normalize_axis(axis, x.ndim(), "narrow"))] = Slice{start, start + length};
  return slice(x, basic_region(x.shape(), items));
}

}  // namespace lamella
