#include "ops/index/along.h"

#include "engine/autograd/tangents/duals.h"
#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/extension/extension.h"
#include "ops/index/picks.h"
#include "ops/index/plan.h"
#include "ops/index/rows.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"
#include "ops/support/strided_loop.h"

namespace lamella {
namespace {

/// True if an index repeats one line of numbers along all other axes with stride 0.
bool is_one_line(const Tensor& index, std::size_t axis) {
  if (index.numel() == 0 || is_batched(index)) return false;
  bool repeated = false;
  for (std::size_t i = 0; i < index.ndim(); ++i) {
    if (i == axis || index.shape()[i] == 1) continue;
    if (index.strides()[i] != 0) return false;
    repeated = true;
  }
  return repeated;
}

/// Returns the line of an index for which is_one_line() holds, contiguous.
Tensor line_of(const Tensor& index, std::size_t axis) {
  return contiguous(make_view(index, Dims{index.shape()[axis]}, Dims{index.strides()[axis]}, 0));
}

/// Picks whole slices on the CPU, for an index for which is_one_line() holds.
void run_slices(PickAction action, const Tensor& x, const Tensor& line, std::size_t axis, const Tensor& values) {
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  RowPicks picks{.data = x->data,
                 .values = values->data,
                 .numbers = line.data<std::int64_t>(),
                 .count = line.numel(),
                 .step = x.strides()[axis] * item,
                 .value_step = values.strides()[axis] * item,
                 .axes = {}};
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    if (i != axis) picks.axes.push_back({values.shape()[i], x.strides()[i] * item, values.strides()[i] * item, 0});
  }
  run_picks(action, x.dtype(), picks);
}

/// Runs the loop on the CPU. x and values have one dtype; an index is contiguous if `check`. Returns false if `check`
/// and a number is out of range.
bool run(PickAction action, const Tensor& x, const Tensor& given, std::size_t axis, const Tensor& values,
         bool check = false) {
  if (given.numel() == 0) return true;
  if (!check && is_one_line(given, axis)) {
    run_slices(action, x, line_of(given, axis), axis, values);
    return true;
  }
  const Tensor index = contiguous(given);
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  AlongPicks picks{.data = x->data,
                   .values = values->data,
                   .numbers = index.data<std::int64_t>(),
                   .step = x.strides()[axis] * item,
                   .along = axis,
                   .size = check ? x.shape()[axis] : -1,
                   .axes = {}};
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    picks.axes.push_back(
        {index.shape()[i], i == axis ? 0 : x.strides()[i] * item, values.strides()[i] * item, index.strides()[i]});
  }
  return run_picks(action, x.dtype(), picks);
}

/// Returns the row-major positions in `shape` of the elements that the index picks, for devices that have kernels for
/// rows only.
Tensor flat_numbers(const Tensor& index, std::size_t axis, const Dims& shape) {
  const Dims strides = contiguous_strides(shape);
  if (has_device_kernel<&DeviceKernels::along_positions>(index.device()) && index.numel() > 0 &&
      index.ndim() <= StridedLoop::kMaxAxes) {
    return device_kernel<&DeviceKernels::along_positions>(index.device(), "index")(index, axis, strides);
  }
  Tensor numbers = index * strides[axis];
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == axis) continue;
    Dims place(shape.size(), 1);
    place[i] = index.shape()[i];
    numbers = numbers + reshape(arange(0, index.shape()[i], 1, DType::Int64, index.device()) * strides[i], place);
  }
  return contiguous(reshape(numbers, Dims{-1}));
}

/// The tensors of one call with the hidden axes of all of them in front; see Note [Batched tensors].
struct Shown {
  HiddenAxes axes;

  explicit Shown(std::span<const Tensor* const> tensors) : axes(hidden_axes(tensors)) {}
  Tensor operator()(const Tensor& x) const { return physical(x, axes, 0, MissingAxis::Repeated); }
  Tensor hide(const Tensor& y) const { return hide_in_place(y, axes); }
};

Tensor gathered(const Tensor& x, const Tensor& index, std::size_t axis) {
  if (is_batched(x) || is_batched(index)) [[unlikely]] {
    const Shown shown(pointers(x, index));
    return shown.hide(gathered(shown(x), contiguous(shown(index)), axis + shown.axes.size()));
  }
  if (!x.device().is_cpu() && !x.device().is_meta()) {
    const Tensor rows = gather_rows(reshape(x, Dims{-1, 1}), flat_numbers(index, axis, x.shape()));
    return reshape(rows, index.shape());
  }
  const Tensor result = empty(index.shape(), x.dtype(), x.device());
  if (!x.device().is_meta()) run(PickAction::Read, x, index, axis, result);
  return result;
}

Tensor placed(const Tensor& values, const Tensor& index, std::size_t axis, const Dims& shape) {
  if (is_batched(values) || is_batched(index)) [[unlikely]] {
    const Shown shown(pointers(values, index));
    return shown.hide(
        placed(shown(values), contiguous(shown(index)), axis + shown.axes.size(), with_axes(shown.axes, shape)));
  }
  if (!values.device().is_cpu() && !values.device().is_meta()) {
    const Tensor rows =
        scatter_rows(reshape(values, Dims{-1, 1}), flat_numbers(index, axis, shape), count_elements(shape));
    return reshape(rows, shape);
  }
  const Tensor result = zeros(shape, values.dtype(), values.device());
  scatter_along(PickAction::Add, result, index, axis, values);
  return result;
}

/// Throws if the shape or the device of an index does not fit x.
void check_fits(const Tensor& x, const Tensor& index, std::size_t axis, const char* op) {
  check_same_device(x, index, op);
  if (x.ndim() != index.ndim()) {
    fail<ValueError>("[", op, "] x has ", x.ndim(), x.ndim() == 1 ? " axis" : " axes", " and index ", index.ndim(),
                     ": they must have equally many");
  }
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    if (i != axis && index.shape()[i] > x.shape()[i]) {
      fail<ValueError>("[", op, "] index of shape ", index.shape(), " is larger than x, of shape ", x.shape(),
                       ", along axis ", i);
    }
  }
}

/// Checks a saved index again: its memory may have been written to without the tape's knowledge.
Tensor reread(const Tensor& index, std::size_t axis, std::int64_t size) {
  if (!index.device().is_cpu() || is_batched(index)) return index;
  const Tensor numbers = is_one_line(index, axis) ? line_of(index, axis) : contiguous(index);
  if (!all_in_range(numbers.data<std::int64_t>(), numbers.numel(), size)) {
    fail<RuntimeError>("[gather] the index was overwritten before backward read it");
  }
  return index;
}

struct Along {
  std::size_t axis = 0;
  Dims shape;

  std::int64_t size() const { return shape[axis]; }
};

/// Tells the first reader of an index to check it on the way.
struct Unchecked {
  const char* op = nullptr;  ///< null if the index is checked already
  bool from_end = false;
};

struct GatherAlongFn : LinearOperatorLayer<GatherAlongFn> {
  static constexpr std::string_view name = "gather";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& index, std::size_t axis,
                        const Unchecked& unchecked) {
    Tensor numbers = index;
    Tensor y;
    if (unchecked.op) {
      if (x.device().is_cpu() && !is_batched(x)) {
        y = empty(index.shape(), x.dtype());
        if (!run(PickAction::Read, x, index, axis, y, true)) y = Tensor();
      }
      if (!y.defined()) {
        numbers =
            checked_numbers(index, x.shape()[axis], static_cast<std::int64_t>(axis), unchecked.op, unchecked.from_end);
      }
    }
    if (ctx.recording()) {
      ctx.save_for_backward(numbers);
      ctx.state<Along>() = {axis, x.shape()};
    }
    return y.defined() ? y : gathered(x, numbers, axis);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const Along& along = ctx.state<Along>();
    const Tensor index = reread(ctx.saved_tensors<1>()[0], along.axis, along.size());
    return {place_along(dy, index, along.axis, along.shape), Tensor()};
  }
};

struct PlaceAlongFn : LinearOperatorLayer<PlaceAlongFn> {
  static constexpr std::string_view name = "place_along";

  static Tensor forward(Context& ctx, const Tensor& values, const Tensor& index, std::size_t axis, const Dims& shape) {
    if (ctx.recording()) {
      ctx.save_for_backward(index);
      ctx.state<Along>() = {axis, shape};
    }
    return placed(values, index, axis, shape);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const Along& along = ctx.state<Along>();
    return {gather_along(dy, reread(ctx.saved_tensors<1>()[0], along.axis, along.size()), along.axis), Tensor()};
  }
};

}  // namespace

Tensor gather_along(const Tensor& x, const Tensor& index, std::size_t axis) {
  return GatherAlongFn::apply(x, index, axis, Unchecked());
}

Tensor gather_checked(const Tensor& x, const Tensor& index, std::int64_t axis, const char* op, bool from_end) {
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.ndim(), op));
  if (!x.device().is_cpu() || is_batched(x) || is_batched(index))
    return gather_along(x, index_along(x, index, axis, op, from_end), at);
  check_fits(x, index, at, op);
  return GatherAlongFn::apply(x, contiguous(as_index(index, op)), at, Unchecked{op, from_end});
}

Tensor place_along(const Tensor& values, const Tensor& index, std::size_t axis, const Dims& shape) {
  return PlaceAlongFn::apply(values, index, axis, shape);
}

void scatter_along(PickAction action, const Tensor& x, const Tensor& index, std::size_t axis, const Tensor& values) {
  const autograd::NoGrad off;
  if (is_batched(x) || is_batched(index) || is_batched(values)) [[unlikely]] {
    // The caller has made x hide the axes of all examples.
    const Shown shown(pointers(x));
    return scatter_along(action, shown(x), contiguous(shown(index)), axis + shown.axes.size(), shown(values));
  }
  if (x.device().is_meta()) return;
  const bool sums = action == PickAction::Add || action == PickAction::Multiply;
  if (!sums && action != PickAction::Write && is_complex(x.dtype()))
    fail<TypeError>("[scatter_reduce] complex numbers have no order, got ", x.dtype());
  if (!x.device().is_cpu()) {
    if (action == PickAction::Add) return write_values(x, add(x, placed(values, index, axis, x.shape())), "scatter");
    if (!has_device_kernel<&DeviceKernels::combine_elements>(x.device())) {
      const auto scatter_there = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
        const Tensor whole = clone(a);
        scatter_along(action, whole, b, axis, c);
        return whole;
      };
      return write_values(x, on_host("scatter", x.device(), scatter_there, x, index, values), "scatter");
    }
    if (index.numel() == 0) return;
    const Tensor whole = contiguous(x);
    device_kernel<&DeviceKernels::combine_elements>(x.device(), "scatter")(
        action, whole, flat_numbers(index, axis, x.shape()), contiguous(values));
    if (!x.is_contiguous()) write_values(x, whole, "scatter");
    return;
  }
  if (is_half(x.dtype()) && action != PickAction::Write) {
    // Sums and products of low precision accumulate in float32 and are rounded once; comparisons in float32 are exact.
    const Tensor wide = cast(x, DType::Float32);
    run(action, wide, index, axis, cast(values, DType::Float32));
    return write_values(x, wide, "scatter");
  }
  run(action, x, index, axis, values);
}

namespace {

/// Returns a mask that is true where a value is the last one written to its element.
Tensor last_along(const Tensor& index, std::size_t axis, const Dims& shape) {
  const autograd::NoGrad off;
  const Tensor numbers =
      reshape(arange(0, count_elements(index.shape()), 1, DType::Int64, index.device()), index.shape());
  const Tensor winners = empty_beside(index, shape, DType::Int64, index.device());
  write_value(winners, -1, "scatter");
  scatter_along(PickAction::Write, winners, index, axis, numbers);
  return equal(gather_along(winners, index, axis), numbers);
}

}  // namespace

Tensor gather_last(const Tensor& x, const Tensor& index, std::size_t axis) {
  const Tensor operands[] = {x};
  bool lines = axis + 1 == x.ndim() && x.device().is_cpu() && !is_batched(x) && !is_batched(index);
  for (std::size_t i = 0; i < axis; ++i) lines = lines && x.shape()[i] == index.shape()[i];
  if (!lines || autograd::is_grad_enabled() || autograd::any_dual(operands))
    return where(last_along(index, axis, x.shape()), gather_along(x, index, axis), 0);
  const Tensor from = contiguous(x);
  const Tensor numbers = contiguous(index);
  const Tensor result = empty(index.shape(), x.dtype());
  if (result.numel() == 0) return result;
  const std::int64_t count = index.shape()[axis];
  run_last_picks(x.dtype(), from->data, numbers.data<std::int64_t>(), result->data, index.numel() / count, count,
                 x.shape()[axis]);
  return result;
}

Tensor index_along(const Tensor& x, const Tensor& index, std::int64_t axis, const char* op, bool from_end) {
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.ndim(), op));
  check_fits(x, index, at, op);
  const std::int64_t size = x.shape()[at];
  if (is_batched(index)) {
    // Checks the numbers of all examples at once.
    const HiddenAxes axes = hidden_axes(pointers(index));
    return hide_in_place(
        clone(checked_numbers(physical(index, axes), size, static_cast<std::int64_t>(at), op, from_end)), axes);
  }
  if (index.device().is_cpu() && is_one_line(index, at)) {
    const Tensor line = checked_numbers(line_of(index, at), size, static_cast<std::int64_t>(at), op, from_end);
    Dims shape(index.ndim(), 1);
    shape[at] = line.numel();
    return broadcast_to(reshape(line, shape), index.shape());
  }
  Tensor numbers = checked_numbers(index, size, static_cast<std::int64_t>(at), op, from_end);
  if (index.device().is_cpu() || index.device().is_meta()) return numbers;
  const Tensor line[] = {reshape(numbers, Dims{-1})};
  const auto negative = from_end ? NegativeIndex::FromEnd : NegativeIndex::Refuse;
  return reshape(pick_rows(line, Dims{size}, Dims{static_cast<std::int64_t>(at)}, op, negative), index.shape());
}

}  // namespace lamella
