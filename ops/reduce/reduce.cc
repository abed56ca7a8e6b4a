#include "ops/reduce/reduce.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using cpu::Reduction;

constexpr std::int64_t kGrain = 32768;      // elements that one thread takes at a time
constexpr std::int64_t kChunk = 65536;      // elements of a long reduction per partial result
constexpr std::int64_t kManyResults = 8;    // results that keep all threads busy without splitting a reduction
constexpr std::int64_t kColumnBlock = 512;  // columns per task

struct Axis {
  std::int64_t size;
  std::int64_t step;
};
using Axes = SmallVector<Axis, 5>;

bool finds_position(Reduction reduction) { return reduction == Reduction::ArgMax || reduction == Reduction::ArgMin; }

/// Returns the axes without those of size 1, outermost first, neighbors merged if their strides allow.
Axes merge(const Axes& axes) {
  Axes merged;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!merged.empty() && merged.back().step == axis.step * axis.size) {
      merged.back() = {merged.back().size * axis.size, axis.step};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

std::int64_t count(const Axes& axes) {
  std::int64_t n = 1;
  for (const Axis& axis : axes) n *= axis.size;
  return n;
}

/// Returns the offset of the i-th index combination of `axes`.
std::int64_t offset_of(const Axes& axes, std::int64_t i) {
  std::int64_t offset = 0;
  for (std::size_t k = axes.size(); k-- > 0;) {
    offset += i % axes[k].size * axes[k].step;
    i /= axes[k].size;
  }
  return offset;
}

/// A reduction of elements in host memory over one axis.
struct Stage {
  Reduction reduction;
  DType dtype;
  const char* x;
  Axes kept;  // merged; the result is contiguous over them
  Axis reduced;
  char* out;
  const char* op;

  std::int64_t item() const { return static_cast<std::int64_t>(item_size(dtype)); }
  DType result() const { return cpu::reduce_result(reduction, dtype); }
  Stage of_partials() const {
    Stage stage = *this;
    stage.reduction = cpu::combining(reduction);
    return stage;
  }
  std::int64_t out_item() const { return static_cast<std::int64_t>(item_size(result())); }
};

cpu::ReduceKernels::Rows row_kernel(const Stage& s, DType dtype) {
  return require_kernel(
      cpu_kernels().reduce.rows[static_cast<std::size_t>(s.reduction)][static_cast<std::size_t>(dtype)], s.op, dtype);
}
cpu::ReduceKernels::Columns columns_kernel(const Stage& s, DType dtype) {
  return require_kernel(
      cpu_kernels().reduce.columns[static_cast<std::size_t>(s.reduction)][static_cast<std::size_t>(dtype)], s.op,
      dtype);
}

/// Returns the number of parts that a long reduction is split into: of equal size, and a multiple of kMultiple so that
/// threads share them evenly.
std::int64_t even_shares(std::int64_t elements) {
  constexpr std::int64_t kMultiple = 4;
  return (elements + kMultiple * kChunk - 1) / (kMultiple * kChunk) * kMultiple;
}

/// Reduces rows whose elements are `step` apart to one result each.
void reduce_rows(const Stage& s) {
  const auto kernel = row_kernel(s, s.dtype);
  const std::int64_t rows = count(s.kept);
  const std::int64_t n = s.reduced.size;
  if (rows >= kManyResults || n <= kChunk || finds_position(s.reduction)) {
    parallel_for(0, rows, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
      const Axis inner = s.kept.empty() ? Axis{1, 0} : s.kept.back();
      for (std::int64_t r = begin; r < end;) {
        const std::int64_t run = std::min(inner.size - r % inner.size, end - r);
        kernel(s.x + offset_of(s.kept, r) * s.item(), s.reduced.step, n, run, inner.step, s.out + r * s.out_item());
        r += run;
      }
    });
    return;
  }
  const auto combine = row_kernel(s.of_partials(), s.result());
  const std::int64_t shares = even_shares(n);
  constexpr std::int64_t kWholeLines =
      64;  // multiple of elements per chunk: vectors that cross cache lines take twice as long
  const std::int64_t chunk = (n + shares * kWholeLines - 1) / (shares * kWholeLines) * kWholeLines;
  const std::int64_t chunks = (n + chunk - 1) / chunk;
  std::vector<char> partial(static_cast<std::size_t>(rows * chunks * s.out_item()));
  parallel_for(0, rows * chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % chunks * chunk;
      kernel(s.x + (offset_of(s.kept, i / chunks) + first * s.reduced.step) * s.item(), s.reduced.step,
             std::min(chunk, n - first), 1, 0, partial.data() + i * s.out_item());
    }
  });
  combine(partial.data(), 1, chunks, rows, chunks, s.out);
}

/// Reduces columns whose results lie side by side along the kept axis `dense`, the axis of stride 1.
void reduce_columns(const Stage& s, std::size_t dense) {
  const auto kernel = columns_kernel(s, s.dtype);
  const std::int64_t columns = s.kept[dense].size;
  const std::int64_t n = s.reduced.size;
  std::int64_t out_step = 1;  // distance between results along `dense`
  for (std::size_t k = dense + 1; k < s.kept.size(); ++k) out_step *= s.kept[k].size;
  Axes others;
  Axes out_others;
  std::int64_t step = 1;
  for (std::size_t k = s.kept.size(); k-- > 0;) {
    if (k != dense) {
      others.insert(others.begin(), s.kept[k]);
      out_others.insert(out_others.begin(), {s.kept[k].size, step});
    }
    step *= s.kept[k].size;
  }
  // Blocks of about equal width, so that threads share them evenly.
  constexpr std::int64_t kMultiple = 64;
  const std::int64_t wide = (columns + kColumnBlock - 1) / kColumnBlock;
  const std::int64_t block = (columns + kMultiple * wide - 1) / (kMultiple * wide) * kMultiple;
  const std::int64_t blocks = (columns + block - 1) / block;
  const std::int64_t items = count(others) * blocks;

  const auto write = [&](const char* results, std::int64_t item, std::int64_t width) {
    const std::int64_t first = item % blocks * block;
    char* to = s.out + (offset_of(out_others, item / blocks) + first * out_step) * s.out_item();
    const std::int64_t shape[] = {width};
    const std::int64_t to_strides[] = {out_step * s.out_item()};
    const std::int64_t from_strides[] = {s.out_item()};
    run_strided(cpu_kernels().movement.copy[std::countr_zero(item_size(s.result()))], shape, to, to_strides, results,
                from_strides);
  };
  const auto source = [&](std::int64_t item) {
    return s.x + (offset_of(others, item / blocks) + item % blocks * block) * s.item();
  };
  const auto width_of = [&](std::int64_t item) { return std::min(block, columns - item % blocks * block); };
  constexpr std::size_t kMaxItem = 16;

  if (items >= kManyResults || n * columns <= kChunk || finds_position(s.reduction)) {
    const std::int64_t work = n * std::min(columns, block);
    parallel_for(0, items, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
      alignas(64) char results[kColumnBlock * kMaxItem];
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t width = width_of(i);
        if (out_step == 1) {
          kernel(source(i), s.reduced.step, n, width,
                 s.out + (offset_of(out_others, i / blocks) + i % blocks * block) * s.out_item());
        } else {
          kernel(source(i), s.reduced.step, n, width, results);
          write(results, i, width);
        }
      }
    });
    return;
  }
  const auto combine = columns_kernel(s.of_partials(), s.result());
  const std::int64_t shares = even_shares(n * columns);
  const std::int64_t chunk = (n + 32 * shares - 1) / (32 * shares) * 32;
  const std::int64_t chunks = (n + chunk - 1) / chunk;
  const std::int64_t partial_bytes = std::min(columns, block) * s.out_item();
  std::vector<char> partial(static_cast<std::size_t>(items * chunks * partial_bytes));
  parallel_for(0, items * chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % chunks * chunk;
      kernel(source(i / chunks) + first * s.reduced.step * s.item(), s.reduced.step, std::min(chunk, n - first),
             width_of(i / chunks), partial.data() + i * partial_bytes);
    }
  });
  alignas(64) char results[kColumnBlock * kMaxItem];
  for (std::int64_t i = 0; i < items; ++i) {
    combine(partial.data() + i * chunks * partial_bytes, partial_bytes / s.out_item(), chunks, width_of(i), results);
    write(results, i, width_of(i));
  }
}

void run(const Stage& s) {
  if (s.reduced.step != 1) {
    for (std::size_t k = s.kept.size(); k-- > 0;) {
      if (s.kept[k].step == 1) return reduce_columns(s, k);
    }
  }
  reduce_rows(s);
}

/// Reduces one axis after the other, the one with the smallest stride first.
void reduce_on_cpu(Reduction reduction, const Tensor& x, const Dims& axes, const Tensor& out, const char* op) {
  const HostRelease release(x.numel());
  Axes kept;
  Axes reduced;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    const bool gone = std::ranges::find(axes, static_cast<std::int64_t>(i)) != axes.end();
    (gone ? reduced : kept).push_back({x.shape()[i], x.strides()[i]});
  }
  kept = merge(kept);
  reduced = merge(reduced);
  if (reduced.size() > 1) {
    std::stable_sort(reduced.begin(), reduced.end(),
                     [](const Axis& a, const Axis& b) { return std::abs(a.step) > std::abs(b.step); });
    if (!finds_position(reduction)) reduced = merge(reduced);
  }
  if (reduced.empty()) reduced.push_back({1, 1});

  Tensor from = x;
  while (reduced.size() > 1) {
    const Axis last = reduced.back();
    reduced.pop_back();
    Axes all = reduced;
    for (const Axis& axis : kept) all.push_back(axis);
    Dims shape;
    for (const Axis& axis : all) shape.push_back(axis.size);
    const Tensor partial = empty(shape, cpu::reduce_result(reduction, from.dtype()));
    run({reduction, from.dtype(), from->data, all, last, partial->data, op});
    for (std::size_t i = 0; i < all.size(); ++i) {
      (i < reduced.size() ? reduced[i] : kept[i - reduced.size()]).step = partial.strides()[i];
    }
    from = partial;
    reduction = cpu::combining(reduction);
  }
  run({reduction, from.dtype(), from->data, merge(kept), reduced[0], out->data, op});
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::reduce>(DeviceType::CPU, reduce_on_cpu);

}  // namespace

Dims reduced_shape(const Tensor& x, const Dims& axes, bool keepdims) {
  Dims shape;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    const bool gone = std::ranges::find(axes, static_cast<std::int64_t>(i)) != axes.end();
    if (!gone) {
      shape.push_back(x.shape()[i]);
    } else if (keepdims) {
      shape.push_back(1);
    }
  }
  return shape;
}

Tensor reduce(Reduction reduction, const Tensor& x, const Dims& axes, bool keepdims, const char* op,
              std::optional<DType> dtype) {
  if (is_batched(x)) [[unlikely]] {
    Dims shifted = axes;
    for (std::int64_t& axis : shifted) axis += static_cast<std::int64_t>(x->hidden->size());
    return hide_in_place(reduce(reduction, physical(x, *x->hidden), shifted, keepdims, op, dtype), *x->hidden);
  }
  const DType computed = cpu::reduce_result(reduction, x.dtype());
  const DType wanted = dtype.value_or(is_floating(computed) ? x.dtype() : computed);
  if (wanted != computed) return cast(reduce(reduction, x, axes, keepdims, op, computed), wanted);
  Tensor out = empty(reduced_shape(x, axes, keepdims), computed, x.device());
  const bool nothing =
      std::ranges::any_of(axes, [&](std::int64_t axis) { return x.shape()[static_cast<std::size_t>(axis)] == 0; });
  if (nothing) {
    switch (reduction) {
      case Reduction::Sum:
      case Reduction::Any:
      case Reduction::Count:
      case Reduction::NanSum:
      case Reduction::SquareSum:
        write_value(out, 0, op);
        return out;
      case Reduction::Prod:
      case Reduction::All:
        write_value(out, 1, op);
        return out;
      default:
        fail<ValueError>("[", op, "] cannot reduce an axis of length 0; the shape is ", x.shape());
    }
  }
  if (out.device().is_meta() || out.numel() == 0) return out;
  device_kernel<&DeviceKernels::reduce>(out.device(), op)(reduction, x, axes, out, op);
  return out;
}

void remember_axes(Context& ctx, const Tensor& x, const Dims& axes) {
  if (!ctx.recording()) return;
  ctx.input_metas.emplace_back(x);
  ctx.input_metas.emplace_back().shape = reduced_shape(x, axes, true);
}

Tensor with_reduced_axes(const Context& ctx, const Tensor& y) { return reshape(y, ctx.input_metas[1].shape); }

Tensor spread(const Context& ctx, const Tensor& y) {
  return broadcast_to(with_reduced_axes(ctx, y), ctx.input_metas[0].shape);
}

}  // namespace lamella
