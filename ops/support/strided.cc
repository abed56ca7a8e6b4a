#include "ops/support/strided.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "engine/core/host.h"
#include "engine/core/physical_layout.h"
#include "engine/runtime/parallel.h"
#include "ops/operand.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/device_kernels.h"
#include "ops/support/extension_device.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 32768;  // elements that one thread takes at a time
constexpr std::int64_t kTile = 64;      // rows that are transposed together

struct Axis {
  std::int64_t size;
  std::int64_t to;
  std::int64_t from;
};

/// Returns the axes ordered by their stride in `to`, largest first, neighbors merged if the strides on both sides
/// allow.
SmallVector<Axis, 5> merged_axes(DimsView shape, DimsView to, DimsView from) {
  SmallVector<Axis, 5> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) axes.push_back({shape[i], to[i], from[i]});
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  SmallVector<Axis, 5> merged;
  for (const Axis& axis : axes) {
    Axis* const last = merged.empty() ? nullptr : &merged.back();
    if (last && last->to == axis.to * axis.size && last->from == axis.from * axis.size) {
      *last = {last->size * axis.size, axis.to, axis.from};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

Dims byte_strides(const Tensor& x) {
  Dims strides = x.strides();
  for (std::int64_t& stride : strides) stride *= static_cast<std::int64_t>(item_size(x.dtype()));
  return strides;
}

/// True if x's elements are strided or in short rows, and no element is repeated.
bool is_scattered(const Tensor& x) {
  constexpr std::int64_t kLongRow = 64;
  constexpr std::int64_t kMany = 1024;
  const auto axes = merged_axes(x.shape(), x.strides(), x.strides());
  if (axes.size() < 2 || x.numel() < kMany) return false;
  if (std::ranges::any_of(axes, [](const Axis& axis) { return axis.from == 0; })) return false;
  return axes.back().from != 1 || axes.back().size < kLongRow;
}

/// Runs over a single axis, the usual case: contiguous tensors of any shape merge to one.
void run_line(void (*kernel)(const cpu::Copy2d&), const cpu::Copy2d& all) {
  constexpr std::int64_t kApart = 4;  // work per element if elements are strided, in units of a contiguous one
  const bool apart = std::max(std::abs(all.to_inner), std::abs(all.from_inner)) > 16;
  parallel_for(0, all.inner, apart ? even_grain(all.inner, kApart, 64) : kGrain,
               [&](std::int64_t begin, std::int64_t end) {
                 cpu::Copy2d part = all;
                 part.to += begin * all.to_inner;
                 part.from += begin * all.from_inner;
                 part.inner = end - begin;
                 kernel(part);
               });
}

}  // namespace

void run_strided(void (*kernel)(const cpu::Copy2d&), DimsView shape, char* to, DimsView to_strides, const char* from,
                 DimsView from_strides) {
  auto axes = merged_axes(shape, to_strides, from_strides);
  cpu::Copy2d all{.to = to, .from = from};
  if (!axes.empty()) {
    all.inner = axes.back().size;
    all.to_inner = axes.back().to;
    all.from_inner = axes.back().from;
    axes.pop_back();
  }
  if (axes.empty()) return run_line(kernel, all);
  // The second axis of a kernel call is the one with the smallest stride in `from`, so that a transposition sees both
  // contiguous axes.
  const auto densest = std::min_element(
      axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return std::abs(a.from) < std::abs(b.from); });
  const bool transposed = std::abs(densest->from) < std::abs(all.from_inner);
  const Axis second = transposed ? *densest : axes.back();
  axes.erase(transposed ? densest : axes.end() - 1);
  all.to_outer = second.to;
  all.from_outer = second.from;
  std::int64_t blocks = 1;
  for (const Axis& axis : axes) blocks *= axis.size;
  // Rows are the index combinations of all axes but the innermost; a part is a run of them.
  const std::int64_t rows = blocks * second.size;
  if (transposed && rows <= kTile) {
    // With few rows, threads share their columns.
    const std::int64_t grain = even_grain(all.inner, rows, kTile);
    all.outer = second.size;
    for (std::int64_t block = 0; block < blocks; ++block) {
      cpu::Copy2d columns = all;
      std::int64_t rest = block;
      for (std::size_t i = axes.size(); i-- > 0;) {
        columns.to += rest % axes[i].size * axes[i].to;
        columns.from += rest % axes[i].size * axes[i].from;
        rest /= axes[i].size;
      }
      parallel_for(0, all.inner, grain, [&](std::int64_t begin, std::int64_t end) {
        cpu::Copy2d part = columns;
        part.to += begin * all.to_inner;
        part.from += begin * all.from_inner;
        part.inner = end - begin;
        kernel(part);
      });
    }
    return;
  }
  std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, all.inner));
  // Parts are whole tiles of a transposition.
  if (transposed) grain = (grain + kTile - 1) / kTile * kTile;
  parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t first = begin % second.size;
      cpu::Copy2d part = all;
      part.outer = std::min(second.size - first, end - begin);
      std::int64_t to_offset = first * second.to;
      std::int64_t from_offset = first * second.from;
      std::int64_t block = begin / second.size;
      for (std::size_t i = axes.size(); i-- > 0;) {
        to_offset += block % axes[i].size * axes[i].to;
        from_offset += block % axes[i].size * axes[i].from;
        block /= axes[i].size;
      }
      part.to += to_offset;
      part.from += from_offset;
      kernel(part);
      begin += part.outer;
    }
  });
}

namespace {

void copy_on_cpu(const Tensor& to, const Tensor& from) {
  const HostRelease release(to.numel());
  const cpu::MovementKernels& kernels = cpu_kernels().movement;
  const auto to_item = static_cast<std::int64_t>(item_size(to.dtype()));
  const auto from_item = static_cast<std::int64_t>(item_size(from.dtype()));
  const std::size_t size = std::countr_zero(item_size(to.dtype()));
  const bool one = from->data && std::ranges::all_of(from.strides(), [](std::int64_t stride) { return stride == 0; });
  const auto kernel = to.dtype() == from.dtype()
                          ? (one ? kernels.fill : kernels.copy)[size]
                          : kernels.cast[static_cast<std::size_t>(to.dtype())][static_cast<std::size_t>(from.dtype())];
  if (to.dtype() != from.dtype() && is_scattered(from)) {
    // Packs the elements first: the copying kernels move several rows, or a tile of them, at once.
    const Tensor packed = empty(from.shape(), from.dtype());
    copy_on_cpu(packed, from);
    return copy_on_cpu(to, packed);
  }
  if (to.is_contiguous() && from.is_contiguous()) {
    run_line(kernel,
             {.to = to->data, .from = from->data, .inner = to.numel(), .to_inner = to_item, .from_inner = from_item});
  } else {
    run_strided(kernel, to.shape(), to->data, byte_strides(to), from->data, byte_strides(from));
  }
}

void fill_on_cpu(const Tensor& to, const void* value) {
  const HostRelease release(to.numel());
  const auto* const number = static_cast<const char*>(value);
  const auto kernel = cpu_kernels().movement.fill[std::countr_zero(item_size(to.dtype()))];
  if (to.is_contiguous()) {
    run_line(kernel, {.to = to->data,
                      .from = number,
                      .inner = to.numel(),
                      .to_inner = static_cast<std::int64_t>(item_size(to.dtype()))});
  } else {
    run_strided(kernel, to.shape(), to->data, byte_strides(to), number, Dims(to.ndim(), 0));
  }
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::copy>(DeviceType::CPU, copy_on_cpu) &&
                                          register_kernel<&DeviceKernels::fill>(DeviceType::CPU, fill_on_cpu);

}  // namespace

void write_values(const Tensor& to, const Tensor& from, const char* op) {
  if (is_batched(to) || is_batched(from)) [[unlikely]] {
    check_room(to, from, op);
    const HiddenAxes axes = hidden_axes(pointers(to));
    return write_values(physical(to, axes), physical(from, axes, 0, MissingAxis::Repeated), op);
  }
  if (to.device().is_meta() || to.numel() == 0) return;
  if (from.device().is_meta()) fail<RuntimeError>("[", op, "] a meta tensor has no data to copy to ", to.device());
  const bool from_there = is_extension(from.device()) || to.device().is_cpu();
  device_kernel<&DeviceKernels::copy>(from_there ? from.device() : to.device(), op)(to, from);
}

void write_value(const Tensor& to, Scalar value, const char* op) {
  if (is_batched(to)) [[unlikely]]
    return write_value(physical(to, *to->hidden), value, op);
  if (to.device().is_meta() || to.numel() == 0) return;
  device_kernel<&DeviceKernels::fill>(to.device(), op)(to, number_tensor(value, to.dtype()).raw_data());
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (!a->data || !b->data || a.numel() == 0 || b.numel() == 0) return false;
  return MemoryExtent(*a.impl()).meets(MemoryExtent(*b.impl()));
}

bool has_repeated_elements(const Tensor& x) {
  if (x.is_contiguous()) return false;
  if (is_batched(x)) [[unlikely]] {
    const Tensor all = physical(x, *x->hidden);
    return overlaps_itself(all.shape(), all.strides());
  }
  return overlaps_itself(x.shape(), x.strides());
}

}  // namespace lamella
