#include "ops/index/plan.h"

#include <algorithm>
#include <memory>

#include "engine/autograd/graph/running_pass.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/index/loops.h"
#include "ops/index/rows.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using Plan = std::shared_ptr<const PickPlan>;

bool is_batched_plan(const PickPlan& plan) {
  return std::ranges::any_of(plan.groups, [](const PickPlan::Group& group) { return is_batched(group.numbers); });
}

/// True if the loops of ops/index/loops.h apply. Otherwise x is reordered into rows by operators that handle batched
/// tensors and other devices.
bool runs_directly(const Tensor& x, const PickPlan& plan) {
  return x.device().is_cpu() && !is_batched(x) && !is_batched_plan(plan);
}

/// Returns the axes in the order [picked, others].
Dims picked_first(const PickPlan& plan, std::size_t ndim) {
  Dims order;
  for (const PickPlan::Group& group : plan.groups) {
    for (std::size_t k = 0; k < group.span; ++k) order.push_back(static_cast<std::int64_t>(group.axis + k));
  }
  for (const std::int64_t axis : plan.other_axes(ndim)) order.push_back(axis);
  return order;
}

/// Returns the permutation from [picked shape, others] to the result's order of axes.
Dims result_order(const PickPlan& plan, std::size_t others) {
  const std::size_t picked = plan.shape.size();
  Dims order;
  for (std::size_t i = 0; i < plan.place; ++i) order.push_back(static_cast<std::int64_t>(picked + i));
  for (std::size_t i = 0; i < picked; ++i) order.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = plan.place; i < others; ++i) order.push_back(static_cast<std::int64_t>(picked + i));
  return order;
}

Dims inverse(const Dims& order) {
  Dims result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    result[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return result;
}

/// Returns the numbers of the picked rows of a tensor of that shape with its picked axes merged into one.
Tensor rows_of(const PickPlan& plan, DimsView shape) {
  Dims sizes;
  Dims axes;
  std::vector<Tensor> numbers;
  for (const PickPlan::Group& group : plan.groups) {
    sizes.push_back(count_elements(shape.subspan(group.axis, group.span)));
    axes.push_back(static_cast<std::int64_t>(group.axis));
    numbers.push_back(broadcast_to(group.numbers, plan.shape));
  }
  return pick_rows(numbers, sizes, axes, plan.op, plan.negative);
}

/// A permuted shape; `count` is the product of its first `merged` sizes, `width` that of the others.
struct Rows {
  Dims shape;
  std::int64_t count = 1;
  std::int64_t width = 1;

  Rows(DimsView given, const Dims& order, std::size_t merged) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      shape.push_back(given[static_cast<std::size_t>(order[i])]);
      (i < merged ? count : width) *= shape.back();
    }
  }
};

std::size_t picked_axes(const PickPlan& plan) {
  std::size_t count = 0;
  for (const PickPlan::Group& group : plan.groups) count += group.span;
  return count;
}

/// Returns x[plan], contiguous as a direct call makes it: whether a later reshape is a view must not depend on vmap or
/// on the device.
Tensor pick_by_rows(const Tensor& x, const PickPlan& plan) {
  const Dims order = picked_first(plan, x.ndim());
  const std::size_t picked = picked_axes(plan);
  const Rows rows(x.shape(), order, picked);
  const Tensor result =
      gather_rows(reshape(permute_dims(x, order), Dims{rows.count, rows.width}), rows_of(plan, x.shape()));
  Dims shape = plan.shape;
  for (std::size_t i = picked; i < rows.shape.size(); ++i) shape.push_back(rows.shape[i]);
  return contiguous(permute_dims(reshape(result, shape), result_order(plan, x.ndim() - picked)));
}

Tensor place_by_rows(const Tensor& x, const PickPlan& plan, const Dims& shape) {
  const Dims order = picked_first(plan, shape.size());
  const std::size_t picked = picked_axes(plan);
  const Rows rows(shape, order, picked);
  const Tensor front = permute_dims(x, inverse(result_order(plan, shape.size() - picked)));
  const Tensor matrix = reshape(front, Dims{count_elements(plan.shape), rows.width});
  const Tensor result = scatter_rows(matrix, rows_of(plan, shape), rows.count);
  return permute_dims(reshape(result, rows.shape), inverse(order));
}

/// Computes x[plan] = value on a device that has a kernel for rows.
void put_by_rows(const Tensor& x, const PickPlan& plan, const Tensor& value) {
  const Dims order = picked_first(plan, x.ndim());
  const std::size_t picked = picked_axes(plan);
  const Rows rows(x.shape(), order, picked);
  const Tensor front = permute_dims(value, inverse(result_order(plan, x.ndim() - picked)));
  const Tensor values = contiguous(reshape(front, Dims{count_elements(plan.shape), rows.width}));
  const Tensor permuted = permute_dims(x, order);
  const Tensor packed = contiguous(permuted);
  const auto kernel = device_kernel<&DeviceKernels::put_rows>(x.device(), "setitem");
  kernel(make_view(packed, Dims{rows.count, rows.width}, Dims{rows.width, 1}), rows_of(plan, x.shape()), values);
  if (packed->data != permuted->data) write_values(permuted, packed, "setitem");
}

/// Returns the stride of x's axes [first, first + count) merged into one axis, if their strides allow.
std::optional<std::int64_t> merged_stride(const Tensor& x, std::size_t first, std::size_t count) {
  std::int64_t stride = 0;
  std::int64_t expected = 0;
  bool any = false;
  for (std::size_t i = first + count; i-- > first;) {
    if (x.shape()[i] == 1) continue;
    if (any && x.strides()[i] != expected) return std::nullopt;
    if (!any) stride = x.strides()[i];
    any = true;
    expected = x.strides()[i] * x.shape()[i];
  }
  return stride;
}

/// Returns the offsets of a group's elements and the stride that scales them; the offsets are the group's numbers if
/// its axes merge.
std::pair<Tensor, std::int64_t> offsets_of(const Tensor& x, const PickPlan::Group& group) {
  if (const auto stride = merged_stride(x, group.axis, group.span)) return {group.numbers, *stride};
  Tensor rest = group.numbers;
  Tensor sum;
  for (std::size_t i = group.axis + group.span; i-- > group.axis;) {
    const std::int64_t size = x.shape()[i];
    const Tensor part = (i == group.axis ? rest : remainder(rest, size)) * x.strides()[i];
    sum = sum.defined() ? sum + part : part;
    rest = floor_divide(rest, size);
  }
  return {sum, 1};
}

void run(PickAction action, const Tensor& x, const PickPlan& plan, const Tensor& values) {
  if (values.numel() == 0 || x.numel() == 0) return;
  const autograd::NoGrad off;
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  auto [numbers, step] = offsets_of(x, plan.groups[0]);
  for (std::size_t k = 1; k < plan.groups.size(); ++k) {
    const auto [more, more_step] = offsets_of(x, plan.groups[k]);
    numbers = (step == 1 ? numbers : numbers * step) + more * more_step;
    step = 1;
  }
  numbers = contiguous(broadcast_to(numbers, plan.shape));
  const std::optional<std::int64_t> stride = merged_stride(values, plan.place, plan.shape.size());
  const Tensor v = stride ? values : contiguous(values);
  // The axes of a contiguous tensor always merge.
  const std::int64_t value_step = stride ? *stride : merged_stride(v, plan.place, plan.shape.size()).value_or(0);
  RowPicks picks{.data = x->data,
                 .values = v->data,
                 .numbers = numbers.data<std::int64_t>(),
                 .count = numbers.numel(),
                 .step = step * item,
                 .value_step = value_step * item,
                 .distinct = plan.distinct,
                 .axes = {}};
  std::size_t at = 0;
  for (const std::int64_t axis : plan.other_axes(x.ndim())) {
    if (at == plan.place) at += plan.shape.size();
    const auto i = static_cast<std::size_t>(axis);
    picks.axes.push_back({x.shape()[i], x.strides()[i] * item, v.strides()[at] * item, 0});
    ++at;
  }
  run_picks(action, x.dtype(), picks);
}

/// Checks the saved numbers again: their memory may have been written to without the tape's knowledge.
Plan reread(const Plan& plan, const TensorList& saved, DimsView shape) {
  auto result = std::make_shared<PickPlan>(*plan);
  for (std::size_t k = 0; k < saved.size(); ++k) {
    PickPlan::Group& group = result->groups[k];
    group.numbers = saved[k];
    if (!all_in_range(saved[k].data<std::int64_t>(), saved[k].numel(),
                      count_elements(shape.subspan(group.axis, group.span)))) {
      fail<RuntimeError>("[index] the numbers of the picked elements were overwritten before backward read them");
    }
  }
  return result;
}

struct Kept {
  Plan plan;
  Dims shape;
};

void keep(Context& ctx, const Plan& plan, const Dims& shape) {
  if (!ctx.recording()) return;
  SmallVector<Tensor, 4> numbers;
  for (const PickPlan::Group& group : plan->groups) numbers.push_back(group.numbers);
  ctx.save_for_backward(std::span<const Tensor>(numbers));
  ctx.state<Kept>() = {plan, shape};
}

// Calls with batched tensors go by rows. A tangent may be batched where the tensor is not, so forward checks again.

struct PlacePicksFn : LinearOperatorLayer<PlacePicksFn> {
  static constexpr std::string_view name = "place_picks";

  static Tensor forward(Context& ctx, const Tensor& x, const Plan& plan, const Dims& shape) {
    keep(ctx, plan, shape);
    if (!runs_directly(x, *plan)) return place_by_rows(x, *plan, shape);
    const Tensor result = zeros(shape, x.dtype(), kCPU);
    add_picks(result, *plan, x);
    return result;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const Kept& kept = ctx.state<Kept>();
    return pick(dy, *reread(kept.plan, ctx.saved_tensors(), kept.shape));
  }
};

struct PickFn : LinearOperatorLayer<PickFn> {
  static constexpr std::string_view name = "pick";

  static Tensor forward(Context& ctx, const Tensor& x, const Plan& plan) {
    keep(ctx, plan, x.shape());
    if (!runs_directly(x, *plan)) return pick_by_rows(x, *plan);
    const Tensor result = empty(plan->result_shape(x.shape()), x.dtype());
    run(PickAction::Read, x, *plan, result);
    return result;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const Kept& kept = ctx.state<Kept>();
    return place(dy, *reread(kept.plan, ctx.saved_tensors(), kept.shape), kept.shape);
  }
};

struct AddPicksFn : LinearOperatorLayer<AddPicksFn> {
  static constexpr std::string_view name = "add_picks";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& value, const Plan& plan) {
    keep(ctx, plan, x.shape());
    if (!runs_directly(x, *plan) || is_batched(value))
      return add(contiguous(x), place_by_rows(value, *plan, x.shape()));
    const Tensor result = empty(x.shape(), x.dtype());
    write_values(result, x, "index");
    add_picks(result, *plan, value);
    return result;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const Kept& kept = ctx.state<Kept>();
    TensorList grads(2);
    grads[0] = dy;
    if (autograd::is_needed(ctx.node()->edges()[1]))
      grads[1] = pick(dy, *reread(kept.plan, ctx.saved_tensors(), kept.shape));
    return grads;
  }
};

}  // namespace

Dims PickPlan::other_axes(std::size_t ndim) const {
  Dims axes;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < ndim;) {
    if (next < groups.size() && groups[next].axis == axis) {
      axis += groups[next++].span;
    } else {
      axes.push_back(static_cast<std::int64_t>(axis++));
    }
  }
  return axes;
}

Dims PickPlan::result_shape(DimsView from) const {
  Dims result;
  const Dims others = other_axes(from.size());
  for (std::size_t i = 0; i <= others.size(); ++i) {
    if (i == place) {
      for (const std::int64_t size : shape) result.push_back(size);
    }
    if (i < others.size()) result.push_back(from[static_cast<std::size_t>(others[i])]);
  }
  return result;
}

PickPlan plan_along(std::size_t axis, const Tensor& numbers, const char* op, NegativeIndex negative) {
  return {.groups = {{axis, 1, numbers}}, .shape = numbers.shape(), .place = axis, .op = op, .negative = negative};
}

Tensor checked_numbers(const Tensor& numbers, std::int64_t size, std::int64_t axis, const char* op, bool from_end) {
  Tensor given = as_index(numbers, op);
  if (!given.device().is_cpu() || is_batched(given)) return given;
  Tensor flat = contiguous(given);
  if (all_in_range(flat.data<std::int64_t>(), flat.numel(), size)) return flat;
  const Tensor list[] = {flat};
  const Tensor counted =
      pick_rows(list, Dims{size}, Dims{axis}, op, from_end ? NegativeIndex::FromEnd : NegativeIndex::Refuse);
  return reshape(counted, flat.shape());
}

Tensor pick(const Tensor& x, const PickPlan& plan) {
  if (!runs_directly(x, plan)) return pick_by_rows(x, plan);
  return PickFn::apply(x, std::make_shared<const PickPlan>(plan));
}

Tensor place(const Tensor& x, const PickPlan& plan, const Dims& shape) {
  if (!runs_directly(x, plan)) return place_by_rows(x, plan, shape);
  return PlacePicksFn::apply(x, std::make_shared<const PickPlan>(plan), shape);
}

Tensor add_at(const Tensor& x, const PickPlan& plan, const Tensor& value) {
  // The sum is laid out as its first operand, and AddPicksFn's result is contiguous.
  if (!runs_directly(x, plan) || is_batched(value)) return add(contiguous(x), place_by_rows(value, plan, x.shape()));
  return AddPicksFn::apply(x, value, std::make_shared<const PickPlan>(plan));
}

void write_picks(const Tensor& x, const PickPlan& plan, const Tensor& value) {
  if (value.numel() == 0 || x.numel() == 0) return;
  if (x.device().is_cpu()) return run(PickAction::Write, x, plan, value);
  put_by_rows(x, plan, value);
}

void add_picks(const Tensor& x, const PickPlan& plan, const Tensor& value) {
  if (x.dtype() != DType::Float16 && x.dtype() != DType::BFloat16) return run(PickAction::Add, x, plan, value);
  // Sums of low precision accumulate in float32 and are rounded once.
  const autograd::NoGrad off;
  const Tensor sums = cast(x, DType::Float32);
  run(PickAction::Add, sums, plan, cast(value, DType::Float32));
  write_values(x, sums, "index");
}

}  // namespace lamella
