#include "ops/index/index.h"

#include <algorithm>

#include "engine/autograd/layers/function.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/results.h"
#include "ops/elementwise/where.h"
#include "ops/index/loops.h"
#include "ops/index/nonzero.h"
#include "ops/index/plan.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/region.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/strided.h"
#include "ops/support/unfollowed.h"

namespace lamella {
namespace {

bool has_tensor(const IndexItems& items) {
  return std::ranges::any_of(items, [](const IndexItem& item) { return std::holds_alternative<Tensor>(item); });
}

/// True if the items contain integer tensors, which may pick an element twice.
bool has_integers(const IndexItems& items) {
  return std::ranges::any_of(items, [](const IndexItem& item) {
    const auto* t = std::get_if<Tensor>(&item);
    return t && t->dtype() != DType::Bool;
  });
}

/// An index with tensors, split into a view by its basic parts and picks along some axes of that view.
struct Target {
  IndexItems basic;
  Region region;
  PickPlan plan;
};

/// Returns the number of a tensor's axes that an item consumes.
std::size_t axes_of(const IndexItem& item) {
  if (const auto* t = std::get_if<Tensor>(&item)) return t->dtype() == DType::Bool ? t->ndim() : 1;
  return std::holds_alternative<std::int64_t>(item) || std::holds_alternative<Slice>(item) ? 1 : 0;
}

/// Returns the flat positions at which a bool tensor is true, which stands for x's axes from `axis` on. An axis of the
/// mask may have size 0 where x's has not: it is then true nowhere, as in numpy and in the Python array API standard.
Tensor positions_in(const Tensor& mask, const Tensor& x, std::size_t axis) {
  for (std::size_t k = 0; k < mask.ndim(); ++k) {
    if (mask.shape()[k] != x.shape()[axis + k] && mask.shape()[k] != 0) {
      fail<IndexError>("[index] a bool index of shape ", mask.shape(), " does not fit axes from ", axis, " of shape ",
                       x.shape());
    }
  }
  return true_positions(mask, "index");
}

Target take_apart(const Tensor& x, const IndexItems& items) {
  std::size_t consumed = 0;
  for (const IndexItem& item : items) consumed += axes_of(item);
  if (consumed > x.ndim()) {
    fail<IndexError>("[index] too many indices: ", consumed, " for a tensor with ", x.ndim(),
                     x.ndim() == 1 ? " axis" : " axes");
  }
  Target target;
  PickPlan& plan = target.plan;
  IndexItems& basic = target.basic;  // keeps the picked axes whole
  std::size_t axis = 0;              // axis of x
  std::size_t shown = 0;             // axis of the view
  std::size_t masks = 0;
  bool neighbors = true;
  bool gap = false;
  for (const IndexItem& item : items) {
    const auto* integer = std::get_if<std::int64_t>(&item);
    const auto* tensor = std::get_if<Tensor>(&item);
    if (!integer && !tensor) {
      gap |= !plan.groups.empty();
      basic.push_back(item);
      const std::size_t axes = std::holds_alternative<Ellipsis>(item) ? x.ndim() - consumed : axes_of(item);
      axis += axes;
      shown += std::holds_alternative<NewAxis>(item) ? 1 : axes;
      continue;
    }
    neighbors &= !gap;
    PickPlan::Group group{.axis = shown, .span = axes_of(item), .numbers = {}};
    const Tensor given = tensor ? *tensor : number_tensor(*integer, DType::Int64);
    const Tensor here = given.device() == x.device() ? given : to_device(given, x.device());
    if (here.dtype() == DType::Bool) {
      group.numbers = positions_in(here, x, axis);
      ++masks;
      // A 0-d mask picks along a new axis of size 1.
      if (group.span == 0) basic.emplace_back(NewAxis{});
    } else {
      group.numbers = checked_numbers(here, x.shape()[axis], static_cast<std::int64_t>(axis), "index");
    }
    basic.insert(basic.end(), group.span, Slice{});
    axis += group.span;
    group.span = std::max<std::size_t>(group.span, 1);
    shown += group.span;
    plan.shape = broadcast_shapes(plan.shape, group.numbers.shape(), "index");
    plan.groups.push_back(std::move(group));
  }
  plan.place = neighbors ? plan.groups.front().axis : 0;
  plan.distinct = masks == 1 && plan.groups.size() == 1;
  target.region = basic_region(x.shape(), basic);
  return target;
}

/// Returns x's region as a view, or x itself if the region is all of it: the gradient of a view costs a copy.
Tensor viewed(const Tensor& x, const Region& region) { return region.is_whole(x.shape()) ? x : slice(x, region); }

struct Assignment {
  IndexItems items;
};

/// True if `value` is a tracked view of x (or of the same base) on exactly the elements of `target`.
bool is_view_of_target(const Tensor& x, const Tensor& target, const Tensor& value) {
  return value->base && value->base == (x->base ? x->base : x.impl()) && target->data == value->data &&
         target.dtype() == value.dtype() && target.shape() == value.shape() && target.strides() == value.strides();
}

/// Returns the shape of x[items].
Dims indexed_shape(const Tensor& x, const IndexItems& items) {
  if (!has_tensor(items)) return basic_region(x.shape(), items).of(x).shape();
  const Target target = take_apart(x, items);
  return target.plan.result_shape(target.region.of(x).shape());
}

/// Returns the tensors among the items.
SmallVector<const Tensor*, 4> tensors_of(const IndexItems& items) {
  SmallVector<const Tensor*, 4> tensors;
  for (const IndexItem& item : items) {
    if (const auto* t = std::get_if<Tensor>(&item)) tensors.push_back(t);
  }
  return tensors;
}

/// Returns example `number` of x, the slice at that index combination of `axes`; off the tape.
Tensor example_of(const Tensor& x, const HiddenAxes& axes, std::int64_t number) {
  const Tensor all = physical(x, axes, 0, MissingAxis::Repeated);
  std::int64_t offset = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    offset += number % axes[i].size * all.strides()[i];
    number /= axes[i].size;
  }
  return make_view(all, x.shape(), x.strides(), offset);
}

void write(const Tensor& x, const IndexItems& items, const Tensor& value);

/// Writes one example after the other, because picks differ between examples and the last of several picks of an
/// element counts.
void write_examples(const Tensor& x, const IndexItems& items, const Tensor& value) {
  for (const Tensor* index : tensors_of(items)) check_room(x, *index, "setitem");
  const HiddenAxes axes = *x->hidden;
  const std::int64_t count = count_elements(with_axes(axes, {}));
  for (std::int64_t number = 0; number < count; ++number) {
    IndexItems own = items;
    for (IndexItem& item : own) {
      if (const auto* t = std::get_if<Tensor>(&item)) item = example_of(*t, axes, number);
    }
    write(example_of(x, axes, number), own, example_of(value, axes, number));
  }
}

/// Computes x[items] = value in one pass if the only item is a bool tensor and the value a single element. Returns
/// false if that does not apply.
bool fill_mask(const Tensor& x, const IndexItems& items, const Tensor& value) {
  if (items.size() != 1 || value.numel() != 1 || !x.is_contiguous() || !x.device().is_cpu()) return false;
  const auto* mask = std::get_if<Tensor>(&items[0]);
  if (!mask || mask->dtype() != DType::Bool || !mask->is_contiguous() || !mask->device().is_cpu()) return false;
  if (mask->shape() != x.shape() || may_overlap(x, *mask)) return false;
  run_masked_fill(x.dtype(), x->data, (*mask)->data, value->data, x.numel());
  return true;
}

/// Computes x[items] = value in place; value has x's dtype and device.
void write(const Tensor& x, const IndexItems& items, const Tensor& value) {
  const autograd::NoGrad no_grad;
  if (!has_tensor(items)) {
    const Tensor target = basic_region(x.shape(), items).of(x);
    const Tensor source = broadcast_to(value, target.shape());
    write_values(target, may_overlap(target, source) ? clone(source) : source, "setitem");
    return;
  }
  if (is_batched(x)) [[unlikely]]
    return write_examples(x, items, value);
  if (fill_mask(x, items, value)) return;
  if (!x.device().is_cpu() && !x.device().is_meta() && !has_device_kernel<&DeviceKernels::put_rows>(x.device())) {
    // Computed on the host: that the last of several picks counts takes a kernel of its own on a device.
    const Tensor host = to_device(x, kCPU);
    write(host, items, to_device(value, kCPU));
    write_values(x, host, "setitem");
    return;
  }
  Target target = take_apart(x, items);
  const Tensor view = target.region.of(x);
  const Tensor source = broadcast_to(value, target.plan.result_shape(view.shape()));
  if (x.device().is_meta()) return;
  for (PickPlan::Group& group : target.plan.groups) {
    if (may_overlap(x, group.numbers)) group.numbers = clone(group.numbers);
  }
  write_picks(view, target.plan, may_overlap(x, source) ? clone(source) : source);
}

/// Returns dy with 0 where the items pick; batched if the items are.
Tensor cleared(const Tensor& dy, const IndexItems& items) {
  const Tensor result = copy_with_room(dy, tensors_of(items));
  set_index(result, items, 0);
  return result;
}

/// Returns a mask, of the picks' shape, of the picks that are the last ones of their element, which alone count.
Tensor last_picks(const Tensor& like, const IndexItems& items, const Dims& shape) {
  const autograd::NoGrad off;
  const Tensor numbers = reshape(arange(0, count_elements(shape), 1, DType::Int64, like.device()), shape);
  SmallVector<const Tensor*, 4> sources = tensors_of(items);
  sources.push_back(&like);
  const Tensor winners = empty_beside(sources, like.shape(), DType::Int64, like.device());
  write_value(winners, 0, "setitem");
  set_index(winners, items, numbers);
  return equal(index(winners, items), numbers);
}

/// The recorded form of setitem, an in-place layer; overwritten elements get no gradient.
struct SetItemFn : Function<SetItemFn> {
  static constexpr std::string_view name = "setitem";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& value,
                        const std::shared_ptr<const Assignment>& assignment) {
    ctx.state<std::shared_ptr<const Assignment>>() = assignment;
    write(x, assignment->items, value);
    ctx.mark_dirty(x);
    return x;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const IndexItems& items = ctx.state<std::shared_ptr<const Assignment>>()->items;
    TensorList grads(2);
    if (ctx.needs_input_grad(1)) {
      grads[1] = index(dy, items);
      if (has_integers(items)) grads[1] = where(last_picks(dy, items, grads[1].shape()), grads[1], 0);
    }
    if (ctx.needs_input_grad(0)) {
      grads[0] = cleared(dy, items);
    }
    return grads;
  }
  static Tensor jvp(Context& ctx, const Tensor& dx, const Tensor& dvalue) {
    const IndexItems& items = ctx.state<std::shared_ptr<const Assignment>>()->items;
    SmallVector<const Tensor*, 4> others = tensors_of(items);
    others.push_back(&dvalue);
    const Tensor result = copy_with_room(dx, others);
    set_index(result, items, dvalue);
    return result;
  }
};

/// Returns the bool tensor of x's shape if it is the only item and one pass can pick the elements, else null.
const Tensor* plain_mask(const Tensor& x, const IndexItems& items) {
  const Tensor* const mask = items.size() == 1 ? std::get_if<Tensor>(&items[0]) : nullptr;
  if (!mask || mask->dtype() != DType::Bool || x.ndim() == 0 || mask->shape() != x.shape()) return nullptr;
  const Tensor* const operands[] = {&x, mask};
  return is_unfollowed(operands) ? mask : nullptr;
}

/// Returns x with at most `ndim` axes, if its first ones have length 1, as numpy assigns values.
Tensor without_leading_ones(const Tensor& x, std::size_t ndim) {
  const DimsView sizes = x.shape();
  std::size_t dropped = 0;
  while (sizes.size() - dropped > ndim && sizes[dropped] == 1) ++dropped;
  return dropped == 0 ? x : reshape(x, Dims(sizes.begin() + dropped, sizes.end()));
}

}  // namespace

Tensor index(const Tensor& x, const IndexItems& items) {
  if (!has_tensor(items)) return slice(x, basic_region(x.shape(), items));
  if (const Tensor* const mask = plain_mask(x, items)) {
    const Tensor picked = true_elements(contiguous(x), contiguous(*mask));
    const Tensor* const inputs[] = {&x};
    autograd::note_derived(inputs, picked);
    return picked;
  }
  const Target target = take_apart(x, items);
  return pick(viewed(x, target.region), target.plan);
}

void set_index(const Tensor& x, const IndexItems& items, const Operand& value) {
  if (!x.is_contiguous() && !has_tensor(items) && !is_batched(x) && has_repeated_elements(x) &&
      std::ranges::find(x.strides(), 0) == x.strides().end()) {
    const Tensor part = slice(x, basic_region(x.shape(), items));  // within one window, no element repeats
    copy_(part, value.is_number() ? value : Operand(without_leading_ones(value.tensor(), part.ndim())));
    return;
  }
  check_writable(x, "setitem");
  Tensor given = value.is_number() ? number_tensor(value.number(), x.dtype()) : cast(value.tensor(), x.dtype());
  // A scalar value fits any pick; the items are checked when it is written.
  const bool picks = has_tensor(items);
  if (!picks || given.ndim() != 0) {
    const Dims shape = indexed_shape(x, items);
    given = without_leading_ones(given, shape.size());
    if (!broadcasts_to(given.shape(), shape)) {
      fail<ValueError>("[setitem] a value of shape ", given.shape(), " does not broadcast to the indexed shape ",
                       shape);
    }
  }
  const Tensor source = given.device() == x.device() ? given : to_device(given, x.device());
  // x[i] += y writes into the view x[i] and then assigns that same view, whose values are in place already.
  if (!value.is_number() && !picks && is_view_of_target(x, basic_region(x.shape(), items).of(x), value.tensor())) {
    return;
  }
  check_room(x, source, "setitem");
  for (const Tensor* index : tensors_of(items)) check_room(x, *index, "setitem");
  if (autograd::records_in_place("setitem", x, source)) {
    SetItemFn::apply(x, source, std::make_shared<const Assignment>(Assignment{items}));
    return;
  }
  write(x, items, source);
  mark_written(x, "setitem");
  const Tensor* const inputs[] = {&source};
  note_unrecorded("setitem", inputs, x);
}

Tensor copy_with_room(const Tensor& x, std::span<const Tensor* const> others) {
  if (!is_batched(others)) return clone(x);
  const Tensor zero = empty_beside(others, Dims{}, x.dtype(), x.device());
  write_value(zero, 0, "setitem");
  return add(x, zero);
}

Tensor add_at_index(const Tensor& x, const IndexItems& items, const Tensor& value) {
  if (!has_tensor(items)) {
    const Tensor result = clone(x);
    const Tensor part = index(result, items);
    set_index(result, items, add(part, value));
    return result;
  }
  const Target target = take_apart(x, items);
  const Tensor view = viewed(x, target.region);
  const Dims shape = target.plan.result_shape(view.shape());
  if (!broadcasts_to(value.shape(), shape)) {
    fail<ValueError>("[index_put] values of shape ", value.shape(), " do not broadcast to the indexed shape ", shape);
  }
  Tensor sums = add_at(view, target.plan, broadcast_to(value, shape));
  if (view.same(x)) return sums;
  const Tensor result = clone(x);
  set_index(result, target.basic, sums);
  return result;
}

}  // namespace lamella
