#include "ops/index/index.h"

#include "engine/autograd/function.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/index/nonzero.h"
#include "ops/index/picks.h"
#include "ops/index/region.h"
#include "ops/index/rows.h"
#include "ops/movement/cast.h"
#include "ops/movement/in_place.h"
#include "ops/movement/strided.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

bool has_tensor(const IndexItems& items) {
  return std::ranges::any_of(items, [](const IndexItem& item) { return std::holds_alternative<Tensor>(item); });
}

/// An index with tensors, taken apart: first a view by its basic parts, then picks along some axes of that view.
struct Picks {
  Region region;
  std::vector<std::size_t> axes;  ///< of the view, ascending
  std::vector<Tensor> indices;    ///< int64, broadcast together
  Dims shape;                     ///< their common shape
  bool neighbors = true;          ///< the picked axes stood together in the index

  /// The view's axes with the picked ones in front.
  Dims order(std::size_t ndim) const {
    Dims order;
    for (const std::size_t axis : axes) order.push_back(static_cast<std::int64_t>(axis));
    for (std::size_t axis = 0; axis < ndim; ++axis) {
      if (std::ranges::find(axes, axis) == axes.end()) order.push_back(static_cast<std::int64_t>(axis));
    }
    return order;
  }
  /// Where the picked shape goes in the result: in front, or where the picked axes were.
  std::size_t place() const { return neighbors ? axes.front() : 0; }
};

/// Replaces bool tensors by the positions where they are true; checks dtypes and devices.
IndexItems with_positions(const Tensor& x, const IndexItems& items) {
  IndexItems result;
  std::size_t consumed = 0;
  for (const IndexItem& item : items) {
    if (const auto* t = std::get_if<Tensor>(&item)) consumed += t->dtype() == DType::Bool ? t->ndim() : 1;
    consumed += std::holds_alternative<std::int64_t>(item) || std::holds_alternative<Slice>(item);
  }
  if (consumed > x.ndim()) {
    fail<IndexError>("[index] ", consumed, " indices for a tensor with ", x.ndim(), x.ndim() == 1 ? " axis" : " axes");
  }
  std::size_t axis = 0;
  for (const IndexItem& item : items) {
    const auto* t = std::get_if<Tensor>(&item);
    if (!t) {
      if (std::holds_alternative<std::int64_t>(item) || std::holds_alternative<Slice>(item)) ++axis;
      if (std::holds_alternative<Ellipsis>(item)) axis += x.ndim() - consumed;
      result.push_back(item);
      continue;
    }
    const Tensor tensor = t->device() == x.device() ? *t : to_device(*t, x.device());
    if (tensor.dtype() != DType::Bool) {
      result.emplace_back(as_index(tensor, "index"));
      ++axis;
      continue;
    }
    if (tensor.ndim() == 0) {
      fail<NotImplementedError>("[index] a 0-d bool tensor as an index; use where() or a Python if");
    }
    for (std::size_t k = 0; k < tensor.ndim(); ++k) {
      if (tensor.shape()[k] != x.shape()[axis + k]) {
        fail<IndexError>("[index] a bool index of shape ", tensor.shape(), " does not fit axes from ", axis,
                         " of shape ", x.shape());
      }
    }
    for (Tensor& positions : nonzero(tensor)) result.emplace_back(std::move(positions));
    axis += tensor.ndim();
  }
  return result;
}

Picks take_apart(const Tensor& x, const IndexItems& given) {
  const IndexItems items = with_positions(x, given);
  Picks picks;
  IndexItems basic;
  bool seen = false;
  bool gap = false;
  std::vector<std::pair<std::size_t, Tensor>> at;  // position among the basic items, index
  for (const IndexItem& item : items) {
    const auto* integer = std::get_if<std::int64_t>(&item);
    const auto* tensor = std::get_if<Tensor>(&item);
    if (integer || tensor) {
      if (seen && gap) picks.neighbors = false;
      seen = true;
      gap = false;
      at.emplace_back(basic.size(), tensor ? *tensor : to_device(number_tensor(*integer, DType::Int64), x.device()));
      basic.emplace_back(Slice{});
    } else {
      gap |= seen;
      basic.push_back(item);
    }
  }
  picks.region = basic_region(x.shape(), basic);

  // The axis of the view that each basic item made.
  std::vector<std::size_t> axis_of(basic.size());
  std::size_t axis = 0;
  std::size_t consumed = 0;
  for (const IndexItem& item : basic) consumed += std::holds_alternative<Slice>(item);
  for (std::size_t i = 0; i < basic.size(); ++i) {
    axis_of[i] = axis;
    axis += std::holds_alternative<Ellipsis>(basic[i]) ? x.ndim() - consumed : 1;
  }
  for (auto& [position, index] : at) {
    picks.axes.push_back(axis_of[position]);
    picks.shape = broadcast_shapes(picks.shape, index.shape(), "index");
  }
  for (auto& [position, index] : at) picks.indices.push_back(broadcast_to(index, picks.shape));
  return picks;
}

/// The numbers of the picked rows, once the picked axes of `view` are merged into one.
Tensor rows_of(const Picks& picks, const Tensor& view) {
  Dims sizes;
  Dims axes;
  for (const std::size_t axis : picks.axes) {
    sizes.push_back(view.shape()[axis]);
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  return pick_rows(picks.indices, sizes, axes, "index");
}

/// Axis order that takes a result with the picked shape in front to the one that numpy gives.
Dims final_order(const Picks& picks, std::size_t rest) {
  const std::size_t picked = picks.shape.size();
  const std::size_t place = picks.place();
  Dims order;
  for (std::size_t i = 0; i < place; ++i) order.push_back(static_cast<std::int64_t>(picked + i));
  for (std::size_t i = 0; i < picked; ++i) order.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = place; i < rest; ++i) order.push_back(static_cast<std::int64_t>(picked + i));
  return order;
}

Tensor pick(const Tensor& x, const Picks& picks) {
  const Tensor view = slice(x, picks.region);
  const std::size_t picked = picks.axes.size();
  const Tensor front = permute_dims(view, picks.order(view.ndim()));
  std::int64_t count = 1;
  std::int64_t width = 1;
  Dims shape = picks.shape;
  for (std::size_t axis = 0; axis < front.ndim(); ++axis) {
    if (axis < picked) {
      count *= front.shape()[axis];
    } else {
      width *= front.shape()[axis];
      shape.push_back(front.shape()[axis]);
    }
  }
  const Tensor rows = gather_rows(reshape(front, Dims{count, width}), rows_of(picks, view));
  return permute_dims(reshape(rows, shape), final_order(picks, front.ndim() - picked));
}

/// Writes `value`, which has the shape of the picked result, element by element: the target need not be contiguous.
void write_picks(const Tensor& x, const Picks& picks, const Tensor& value) {
  const Tensor view = picks.region.of(x);
  const Tensor front = permute_dims(view, picks.order(view.ndim()));
  const Tensor rows = rows_of(picks, view);
  const std::size_t picked = picks.axes.size();
  const Dims order = final_order(picks, front.ndim() - picked);
  Dims inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const Tensor source = permute_dims(value, inverse);  // picked axes in front
  const auto* row = rows.data<std::int64_t>();
  const Dims row_shape(front.shape().begin() + picked, front.shape().end());
  const Dims row_strides(front.strides().begin() + picked, front.strides().end());
  const Dims picked_strides = contiguous_strides(picks.shape);
  for (std::int64_t i = 0; i < rows.numel(); ++i) {
    std::int64_t target = 0;
    std::int64_t rest = row[i];
    for (std::size_t axis = picked; axis-- > 0;) {
      target += rest % front.shape()[axis] * front.strides()[axis];
      rest /= front.shape()[axis];
    }
    std::int64_t from = 0;
    rest = i;
    for (std::size_t axis = 0; axis < picks.shape.size(); ++axis) {
      from += rest / picked_strides[axis] * source.strides()[axis];
      rest %= picked_strides[axis];
    }
    const Dims source_strides(source.strides().begin() + picks.shape.size(), source.strides().end());
    write_values(make_view(front, row_shape, row_strides, target), make_view(source, row_shape, source_strides, from),
                 "setitem");
  }
}

struct Assignment {
  IndexItems items;
};

Dims picked_shape(const Tensor& x, const IndexItems& items) {
  const autograd::NoGrad no_grad;
  return index(x.detach(), items).shape();  // x itself must not count as viewed: it is about to be written to
}

/// Whether `value` is a tracked view of x (or of the same base) on exactly the elements of `target`.
bool is_view_of_target(const Tensor& x, const Tensor& target, const Tensor& value) {
  return value->base && value->base == (x->base ? x->base : x.impl()) && target->data == value->data &&
         target.shape() == value.shape() && target.strides() == value.strides();
}

/// The tensors among the items.
SmallVector<const Tensor*, 4> tensors_of(const IndexItems& items) {
  SmallVector<const Tensor*, 4> tensors;
  for (const IndexItem& item : items) {
    if (const auto* t = std::get_if<Tensor>(&item)) tensors.push_back(t);
  }
  return tensors;
}

/// Example `number` of x, off the tape: what it has at that place of `axes`.
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

/// Picks differ from example to example: one after the other, as the last of several picks of an element counts.
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

/// x with x[items] = value, in place; value already has x's dtype and device.
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
  const Tensor source = broadcast_to(value, picked_shape(x, items));
  if (x.device().is_meta()) return;
  if (!x.device().is_cpu()) {
    // By way of the host: the last of several picks counts, which costs a kernel of its own elsewhere.
    const Tensor host = to_device(x, kCPU);
    write_picks(host, take_apart(host, items), to_device(source, kCPU));
    write_values(x, host, "setitem");
    return;
  }
  write_picks(x, take_apart(x, items), may_overlap(x, source) ? clone(source) : source);
}

/// A copy of x with a value for each example for which one of the others has one.
Tensor copy_with_room(const Tensor& x, std::span<const Tensor* const> others) {
  if (!is_batched(others)) return clone(x);
  const Tensor zero = empty_beside(others, Dims{}, x.dtype(), x.device());
  write_value(zero, 0, "setitem");
  return add(x, zero);
}

/// dy with 0 where the items pick, and with a value for each example where they pick something else for each.
Tensor cleared(const Tensor& dy, const IndexItems& items) {
  const Tensor result = copy_with_room(dy, tensors_of(items));
  set_index(result, items, 0);
  return result;
}

/// True where a pick is the last of those of its element, which alone counts: a bool tensor of the picks' shape.
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

/// The recorded form, an in-place layer like any other: what was overwritten gets no gradient.
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
      if (has_tensor(items)) grads[1] = where(last_picks(dy, items, grads[1].shape()), grads[1], 0);
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

}  // namespace

Tensor index(const Tensor& x, const IndexItems& items) {
  if (!has_tensor(items)) return slice(x, basic_region(x.shape(), items));
  return pick(x, take_apart(x, items));
}

void set_index(const Tensor& x, const IndexItems& items, const Operand& value) {
  check_writable(x, "setitem");
  const Tensor given = value.is_number() ? number_tensor(value.number(), x.dtype()) : cast(value.tensor(), x.dtype());
  const Dims shape = picked_shape(x, items);
  if (!broadcasts_to(given.shape(), shape)) {
    fail<ValueError>("[setitem] a value of shape ", given.shape(), " does not broadcast to the indexed shape ", shape);
  }
  const Tensor source = given.device() == x.device() ? given : to_device(given, x.device());
  // x[i] += y writes into the view x[i], and then assigns that very view: it is there already.
  if (!value.is_number() && !has_tensor(items) &&
      is_view_of_target(x, basic_region(x.shape(), items).of(x), value.tensor())) {
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
  autograd::note_derived(inputs, x);
  if (autograd::is_tracing()) [[unlikely]]
    autograd::note_departure("setitem", inputs, x);
}

}  // namespace lamella
