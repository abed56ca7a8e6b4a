#include "ops/index/select.h"

#include <limits>

#include "engine/autograd/recording/recorder.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/where.h"
#include "ops/index/index.h"
#include "ops/index/loops.h"
#include "ops/index/nonzero.h"
#include "ops/index/picks.h"
#include "ops/index/plan.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/region.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// An axis of x and numbers of slices along it, as checked_numbers() has them; a 0-d x gets an axis of size 1.
struct Slices {
  Tensor x;
  std::size_t axis = 0;
  Tensor numbers;
  const char* op;

  Slices(const Tensor& given, std::int64_t along, const Tensor& index, const char* name) : op(name) {
    check_defined(given, op);
    check_defined(index, op);
    check_same_device(given, index, op);
    x = given.ndim() == 0 ? reshape(given, Dims{1}) : given;
    axis = static_cast<std::size_t>(normalize_axis(along, x.ndim(), op));
    if (index.ndim() > 1) fail<ValueError>("[", op, "] index must have one axis, got shape ", index.shape());
    const Tensor flat = index.ndim() == 0 ? reshape(index, Dims{1}) : index;
    numbers = checked_numbers(flat, x.shape()[axis], static_cast<std::int64_t>(axis), op, false);
  }

  IndexItems items() const {
    IndexItems result(axis, Slice{});
    const bool is_checked = (numbers.device().is_cpu() || numbers.device().is_meta()) && !is_batched(numbers);
    result.emplace_back(is_checked ? numbers : checked_here());
    return result;
  }
  PickPlan plan() const { return plan_along(axis, numbers, op, NegativeIndex::Refuse); }
  /// Returns the numbers, in the place of those out of range one that no axis has: negative ones would count from the
  /// end as items.
  Tensor checked_here() const {
    const Tensor list[] = {numbers};
    const Tensor rows =
        pick_rows(list, Dims{x.shape()[axis]}, Dims{static_cast<std::int64_t>(axis)}, op, NegativeIndex::Refuse);
    return where(rows < 0, std::numeric_limits<std::int64_t>::max(), rows);
  }
  /// Throws TypeError or ValueError if the source's slices do not match those of x.
  Tensor fitting(const Tensor& source) const {
    check_defined(source, op);
    check_same_device(x, source, op);
    if (source.dtype() != x.dtype()) {
      fail<TypeError>("[", op, "] source has dtype ", source.dtype(), " and x ", x.dtype(),
                      ": they must have the same");
    }
    const Tensor slices = source.ndim() == 0 ? reshape(source, Dims{1}) : source;
    Dims shape = x.shape();
    shape[axis] = numbers.shape()[0];
    if (slices.shape() != shape)
      fail<ValueError>("[", op, "] source must have shape ", shape, ", got ", source.shape());
    return slices;
  }
};

Tensor scaled(const Tensor& source, Scalar alpha) {
  const bool one = alpha.kind() == Scalar::Kind::Float ? alpha.to<double>() == 1 : alpha.to<std::int64_t>() == 1;
  if (one) return source;
  if (alpha.kind() == Scalar::Kind::Float && !is_differentiable(source.dtype()))
    fail<TypeError>("[index_add] alpha must be an integer for dtype ", source.dtype());
  return multiply(source, alpha);
}

const Tensor& check_value(const Tensor& x, const Operand& value, const char* op) {
  check_defined(value.tensor(), op);
  if (!value.tensor().device().is_cpu()) check_same_device(x, value.tensor(), op);
  if (value.tensor().ndim() != 0) {
    fail<ValueError>("[", op, "] value must be a number or a 0-d tensor, got shape ", value.tensor().shape());
  }
  return value.tensor();
}

/// True if the first dtype is of a higher kind than the second, in the order bool, integer, floating, complex.
bool is_higher_kind(DType result, DType dtype) {
  const auto kind = [](DType d) { return d == DType::Bool ? 0 : is_integral(d) ? 1 : is_floating(d) ? 2 : 3; };
  return kind(result) > kind(dtype);
}

void check_mask(const Tensor& x, const Tensor& mask, const char* op) {
  check_defined(x, op);
  check_defined(mask, op);
  check_same_device(x, mask, op);
  if (mask.dtype() != DType::Bool) fail<TypeError>("[", op, "] mask must be bool, got ", mask.dtype());
}

/// Returns a copy of x with the first values written to distinct row-major positions. Off the tape, on the CPU.
Tensor scattered(const Tensor& x, const Tensor& positions, const Tensor& values) {
  const Tensor result = clone(x);
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  run_picks(PickAction::Write, x.dtype(),
            RowPicks{.data = result->data,
                     .values = values->data,
                     .numbers = positions.data<std::int64_t>(),
                     .count = positions.numel(),
                     .step = item,
                     .value_step = item,
                     .distinct = true,
                     .axes = {}});
  const Tensor* const inputs[] = {&values};
  autograd::note_derived(inputs, result);
  return result;
}

Tensor shaped_like(const Tensor& x, const Tensor& result) { return x.ndim() == 0 ? reshape(result, Dims{}) : result; }

}  // namespace

Tensor IndexSelect::call(const Tensor& x, std::int64_t axis, const Tensor& index) {
  const Slices slices(x, axis, index, info.name);
  return shaped_like(x, pick(slices.x, slices.plan()));
}

Tensor IndexAdd::call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source, Scalar alpha) {
  const Slices slices(x, axis, index, info.name);
  return shaped_like(x, add_at(slices.x, slices.plan(), scaled(slices.fitting(source), alpha)));
}

Tensor IndexAdd::into(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source, Scalar alpha) {
  const Slices slices(x, axis, index, info.name);
  Tensor added = scaled(slices.fitting(source), alpha);
  if (!x.device().is_cpu() || is_batched(x) || is_batched(slices.numbers) || is_batched(added))
    return copy_(x, shaped_like(x, add_at(slices.x, slices.plan(), added)));
  PickPlan plan = slices.plan();
  if (may_overlap(x, plan.groups[0].numbers)) plan.groups[0].numbers = clone(plan.groups[0].numbers);
  add_picks(slices.x, plan, may_overlap(x, added) ? clone(added) : added);
  return x;
}

Tensor IndexCopy::call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source) {
  const Slices slices(x, axis, index, info.name);
  const Tensor values = slices.fitting(source);
  const Tensor result = copy_with_room(slices.x, pointers(slices.numbers, values));
  set_index(result, slices.items(), values);
  return shaped_like(x, result);
}

Tensor IndexCopy::into(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source) {
  const Slices slices(x, axis, index, info.name);
  set_index(slices.x, slices.items(), slices.fitting(source));
  return x;
}

Tensor IndexFill::call(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& value) {
  const Slices slices(x, axis, index, info.name);
  const Tensor result = value.is_number()
                            ? copy_with_room(slices.x, pointers(slices.numbers))
                            : copy_with_room(slices.x, pointers(slices.numbers, check_value(x, value, info.name)));
  set_index(result, slices.items(), value);
  return shaped_like(x, result);
}

Tensor IndexFill::into(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& value) {
  const Slices slices(x, axis, index, info.name);
  if (!value.is_number()) check_value(x, value, info.name);
  set_index(slices.x, slices.items(), value);
  return x;
}

Tensor IndexPut::call(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values, bool accumulate) {
  check_defined(x, info.name);
  check_defined(values, info.name);
  check_same_device(x, values, info.name);
  if (values.dtype() != x.dtype()) {
    fail<TypeError>("[index_put] values have dtype ", values.dtype(), " and x ", x.dtype(),
                    ": they must have the same");
  }
  IndexItems items;
  SmallVector<const Tensor*, 4> others{&values};
  for (const Tensor& index : indices) {
    check_defined(index, info.name);
    check_same_device(x, index, info.name);
    items.emplace_back(index);
    others.push_back(&index);
  }
  if (accumulate) return add_at_index(x, items, values);
  const Tensor result = copy_with_room(x, others);
  set_index(result, items, values);
  return result;
}

Tensor MaskedSelect::call(const Tensor& x, const Tensor& mask) {
  check_mask(x, mask, info.name);
  const Dims shape = broadcast_shapes(x.shape(), mask.shape(), info.name);
  if (shape.empty()) return call(reshape(x, Dims{1}), mask);
  return index(broadcast_to(x, shape), {broadcast_to(mask, shape)});
}

Tensor MaskedScatter::call(const Tensor& x, const Tensor& mask, const Tensor& source) {
  check_mask(x, mask, info.name);
  check_defined(source, info.name);
  check_same_device(x, source, info.name);
  if (source.dtype() != x.dtype()) {
    fail<TypeError>("[masked_scatter] source has dtype ", source.dtype(), " and x ", x.dtype(),
                    ": they must have the same");
  }
  const Dims shape = broadcast_shapes(x.shape(), mask.shape(), info.name);
  const Tensor where_true = broadcast_to(mask, shape);
  const Tensor positions = true_positions(where_true, info.name);
  const std::int64_t count = positions.numel();
  if (source.numel() < count) {
    fail<ValueError>("[masked_scatter] the mask is true for ", count, " elements, source has ", source.numel());
  }
  const bool followed = is_followed(x) || is_followed(source) || autograd::is_tracing();
  if (!followed && x.device().is_cpu() && !is_batched(x) && !is_batched(source)) [[likely]]
    return scattered(broadcast_to(x, shape), positions, contiguous(source));
  const Tensor values = slice(reshape(source, Dims{-1}), basic_region(Dims{source.numel()}, {Slice{0, count}}));
  const Tensor result = copy_with_room(broadcast_to(x, shape), pointers(values));
  set_index(result, {where_true}, values);
  return result;
}

Tensor MaskedFill::call(const Tensor& x, const Tensor& mask, const Operand& value) {
  check_mask(x, mask, info.name);
  if (!value.is_number()) check_value(x, value, info.name);
  const Tensor result = where(mask, value, x);
  if (is_higher_kind(result.dtype(), x.dtype())) {
    fail<TypeError>("[masked_fill] a value of dtype ", result.dtype(), " cannot be written into a tensor of dtype ",
                    x.dtype());
  }
  return cast(result, x.dtype());
}

}  // namespace lamella
