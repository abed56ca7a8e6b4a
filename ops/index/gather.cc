#include "ops/index/gather.h"

#include <limits>

#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/tangents/duals.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/where.h"
#include "ops/index/along.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/region.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// The checked arguments of a scatter: none is 0-d, and src has the index's shape.
struct Arguments {
  Tensor x;
  Tensor index;
  Tensor src;
  std::size_t axis = 0;
};

Tensor at_least_1d(const Tensor& x) { return x.ndim() == 0 ? reshape(x, Dims{1}) : x; }

/// Reshapes a result for at_least_1d(x) to one for x.
Tensor shaped_like(const Tensor& x, const Tensor& result) { return x.ndim() == 0 ? reshape(result, Dims{}) : result; }

/// Returns the leading part of src along each axis, of the index's shape.
Tensor leading_part(const Tensor& src, const Tensor& index, const char* op) {
  if (src.ndim() != index.ndim()) {
    fail<ValueError>("[", op, "] src has ", src.ndim(), src.ndim() == 1 ? " axis" : " axes", " and index ",
                     index.ndim(), ": they must have equally many");
  }
  if (src.shape() == index.shape()) return src;
  IndexItems items;
  for (std::size_t i = 0; i < src.ndim(); ++i) {
    if (index.shape()[i] > src.shape()[i])
      fail<ValueError>("[", op, "] index of shape ", index.shape(), " is larger than src, of shape ", src.shape());
    items.emplace_back(Slice{0, index.shape()[i]});
  }
  return slice(src, basic_region(src.shape(), items));
}

void check_0d(const Tensor& x, const Tensor& index, const char* op) {
  if (x.ndim() == 0 && index.ndim() != 0) {
    fail<ValueError>("[", op, "] x is 0-d and index has shape ", index.shape(), ": they must have equally many axes");
  }
}

Arguments read_arguments(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& src, const char* op) {
  check_defined(x, op);
  check_defined(index, op);
  Arguments result{at_least_1d(x), at_least_1d(index), {}, 0};
  result.axis = static_cast<std::size_t>(normalize_axis(axis, result.x.ndim(), op));
  check_0d(x, index, op);
  result.index = index_along(result.x, result.index, axis, op, false);
  if (src.is_number()) {
    result.src = broadcast_to(to_device(number_tensor(src.number(), x.dtype()), x.device()), result.index.shape());
    return result;
  }
  const Tensor& given = src.tensor();
  check_defined(given, op);
  check_same_device(x, given, op);
  if (given.dtype() != x.dtype()) {
    fail<TypeError>("[", op, "] src has dtype ", given.dtype(), " and x ", x.dtype(), ": they must have the same");
  }
  result.src = leading_part(at_least_1d(given), result.index, op);
  return result;
}

/// Returns a copy of x that also hides the axes that the others hide.
Tensor copy_of(const Tensor& x, const Tensor& index, const Tensor& src) {
  const Tensor out = empty_beside(pointers(x, index, src), x.shape(), x.dtype(), x.device());
  write_values(out, x, "scatter");
  return out;
}

/// Returns `value` broadcast with strides of 0 to the index's shape.
Tensor everywhere(Scalar value, const Tensor& like, const Tensor& index) {
  return broadcast_to(to_device(number_tensor(value, like.dtype()), like.device()), index.shape());
}

/// Writes the values into a copy of x, or adds them.
template <PickAction kAction>
struct ScatterFn : LinearOperatorLayer<ScatterFn<kAction>> {
  static constexpr bool kAdds = kAction == PickAction::Add;
  static constexpr const char* name = kAdds ? "scatter_add" : "scatter";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& src, const Tensor& index, std::size_t axis) {
    save_with<std::size_t>(ctx, axis, index);
    const Tensor out = copy_of(x, index, src);
    scatter_along(kAction, out, index, axis, src);
    return out;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const std::size_t axis = ctx.state<std::size_t>();
    const auto along = static_cast<std::int64_t>(axis);
    const bool wants_src = autograd::is_needed(ctx.node()->edges()[1]);
    TensorList grads(3);
    if (kAdds) grads[0] = dy;
    if (kAdds && !wants_src) return grads;
    const Tensor index = index_along(dy, ctx.saved_tensors<1>()[0], along, name, false);
    if (!kAdds && autograd::is_needed(ctx.node()->edges()[0]))
      grads[0] = ScatterFn::apply(dy, everywhere(0, dy, index), index, axis);
    if (wants_src) grads[1] = kAdds ? gather_along(dy, index, axis) : gather_last(dy, index, axis);
    return grads;
  }
};
using ScatterAddFn = ScatterFn<PickAction::Add>;

/// Multiplies elements of x by the values in order.
struct ScatterProductFn : OperatorLayer<ScatterProductFn> {
  static constexpr std::string_view name = "scatter_prod";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& src, const Tensor& index, std::size_t axis) {
    save_with<std::size_t>(ctx, axis, x, src, index);
    const Tensor out = copy_of(x, index, src);
    scatter_along(PickAction::Multiply, out, index, axis, src);
    return out;
  }
  /// The derivative of a product for a factor is the product of the others. It is computed as the product of the
  /// nonzero factors, times the single other zero, if there is one (which matters for its own derivative), or 0 if
  /// there are several. Derivatives up to the second are exact for any number of zeros, higher ones for at most one.
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const std::size_t axis = ctx.state<std::size_t>();
    const auto [x, src, saved] = ctx.saved_tensors<3>();
    const Tensor index = index_along(x, saved, static_cast<std::int64_t>(axis), "scatter_reduce", false);
    const Tensor x_is_zero = equal(x, 0);
    const Tensor src_is_zero = equal(src, 0);
    const Tensor zero_count =
        add(cast(x_is_zero, x.dtype()), place_along(cast(src_is_zero, x.dtype()), index, axis, x.shape()));
    const Tensor x_or_one = where(x_is_zero, 1, x);
    const Tensor src_or_one = where(src_is_zero, 1, src);
    const Tensor product = apply(x_or_one, src_or_one, index, axis);
    // Sums the zero factors, only if the sum itself is differentiated.
    const Tensor factors[] = {x, src};
    const Tensor* const inputs[] = {&x, &src};
    const bool followed = autograd::should_record(inputs) || autograd::any_dual(factors);
    const auto zeros_of = [](const Tensor& is_zero, const Tensor& factor) { return where(is_zero, factor, 0); };
    const Tensor zero_sum =
        followed ? ScatterAddFn::apply(zeros_of(x_is_zero, x), zeros_of(src_is_zero, src), index, axis) : Tensor();
    // `at` maps one value per element of the result to the factors.
    const auto gradient = [&](const Tensor& factor, const Tensor& is_zero, const Tensor& or_one, const auto& at) {
      const Tensor other_zeros = subtract(at(zero_count), cast(is_zero, dy.dtype()));
      const Tensor others = divide(at(product), or_one);
      const Tensor no_other = equal(other_zeros, 0);
      if (!followed) return multiply(at(dy), conj(where(no_other, others, 0)));
      const Tensor other_zero = subtract(at(zero_sum), zeros_of(is_zero, factor));
      const Tensor with_one = where(equal(other_zeros, 1), multiply(other_zero, others), 0);
      return multiply(at(dy), conj(where(no_other, others, with_one)));
    };
    TensorList grads(3);
    if (autograd::is_needed(ctx.node()->edges()[0]))
      grads[0] = gradient(x, x_is_zero, x_or_one, [](const Tensor& each) { return each; });
    if (autograd::is_needed(ctx.node()->edges()[1])) {
      grads[1] =
          gradient(src, src_is_zero, src_or_one, [&](const Tensor& each) { return gather_along(each, index, axis); });
    }
    return grads;
  }
};

struct Extremum {
  std::size_t axis = 0;
  bool include_self = true;
};

/// The extremum of x's elements (if include_self) and the values.
struct ScatterExtremumFn : OperatorLayer<ScatterExtremumFn> {
  static constexpr std::string_view name = "scatter_extremum";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& src, const Tensor& index, std::size_t axis,
                        PickAction action, bool include_self) {
    const Tensor out = copy_of(x, index, src);
    if (!include_self) {
      const Tensor lowest = reshape(extreme(x.dtype(), action), Dims(index.ndim(), 1));
      scatter_along(PickAction::Write, out, index, axis, broadcast_to(to_device(lowest, x.device()), index.shape()));
    }
    scatter_along(action, out, index, axis, src);
    save_with<Extremum>(ctx, {axis, include_self}, x, src, index, out);
    return out;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto [axis, include_self] = ctx.state<Extremum>();
    const auto [x, src, saved, out] = ctx.saved_tensors<4>();
    const Tensor index = index_along(x, saved, static_cast<std::int64_t>(axis), "scatter_reduce", false);
    Tensor x_has_it = equal(x, out);
    if (!include_self) {
      const Tensor picked = place_along(everywhere(1, x, index), index, axis, x.shape());
      x_has_it = equal(picked, 0);
    }
    const Tensor src_has_it = equal(src, gather_along(out, index, axis));
    const Tensor count =
        add(cast(x_has_it, dy.dtype()), place_along(cast(src_has_it, dy.dtype()), index, axis, x.shape()));
    const Tensor share = divide(dy, count);
    TensorList grads(3);
    if (autograd::is_needed(ctx.node()->edges()[0])) grads[0] = where(x_has_it, share, 0);
    if (autograd::is_needed(ctx.node()->edges()[1])) grads[1] = where(src_has_it, gather_along(share, index, axis), 0);
    return grads;
  }

 private:
  /// Returns a value that loses against every other.
  static Tensor extreme(DType dtype, PickAction action) {
    const Tensor result = empty({}, dtype);
    const bool lowest = action == PickAction::Max;
    visit<Real | Boolean>(dtype, "scatter_reduce", [&]<class T> {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        *result.data<T>() =
            T(lowest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity());
      } else if constexpr (std::numeric_limits<T>::has_infinity) {
        *result.data<T>() = lowest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
      } else {
        *result.data<T>() = lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      }
    });
    return result;
  }
};

/// Returns the sum over x's elements and the values, divided by their number.
Tensor scatter_mean(const Arguments& given, bool include_self) {
  const auto [x, index, src, axis] = given;
  check_dtype(x, Numeric, "scatter_reduce");
  const bool low = is_half(x.dtype());
  const DType dtype = low ? DType::Float32 : x.dtype();
  const Tensor own = cast(x, dtype);
  const Tensor base =
      include_self ? own : ScatterFn<PickAction::Write>::apply(own, everywhere(0, own, index), index, axis);
  const Tensor total = ScatterAddFn::apply(base, cast(src, dtype), index, axis);
  Tensor count = place_along(everywhere(1, own, index), index, axis, x.shape());
  count = include_self ? add(count, 1) : where(equal(count, 0), 1, count);
  return cast(is_integral(dtype) ? floor_divide(total, count) : divide(total, count), x.dtype());
}

Tensor reduced(const Arguments& given, std::string_view reduce, bool include_self, const char* op) {
  const auto [x, index, src, axis] = given;
  const auto replaced = [&](Scalar value) {
    return include_self ? x : ScatterFn<PickAction::Write>::apply(x, everywhere(value, x, index), index, axis);
  };
  if (reduce == "sum" || reduce == "add") return ScatterAddFn::apply(replaced(0), src, index, axis);
  if (reduce == "prod" || reduce == "mul" || reduce == "multiply")
    return ScatterProductFn::apply(replaced(1), src, index, axis);
  if (reduce == "mean") return scatter_mean(given, include_self);
  if (reduce == "amax" || reduce == "amin") {
    check_dtype(x, Real | Boolean, op);
    return ScatterExtremumFn::apply(x, src, index, axis, reduce == "amax" ? PickAction::Max : PickAction::Min,
                                    include_self);
  }
  fail<ValueError>("[", op, "] reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', got '", reduce, "'");
}

/// Writes a scatter in place; not recorded.
Tensor scatter_into(PickAction action, const Tensor& x, const Arguments& given) {
  const Tensor target = given.x.ndim() == x.ndim() ? x : given.x;  // a 0-d x is written through its view with one axis
  const bool shares = may_overlap(x, given.src) && !(given.src.numel() == 1 && given.src.strides()[0] == 0);
  const Tensor index = may_overlap(x, given.index) ? clone(given.index) : given.index;
  scatter_along(action, target, index, given.axis, shares ? clone(given.src) : given.src);
  return x;
}

}  // namespace

Tensor Gather::call(const Tensor& x, std::int64_t axis, const Tensor& index) {
  check_defined(x, info.name);
  check_defined(index, info.name);
  check_0d(x, index, info.name);
  return shaped_like(x, gather_checked(at_least_1d(x), at_least_1d(index), axis, info.name, false));
}

Tensor Scatter::call(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& src) {
  const Arguments given = read_arguments(x, axis, index, src, info.name);
  return shaped_like(x, ScatterFn<PickAction::Write>::apply(given.x, given.src, given.index, given.axis));
}

Tensor Scatter::into(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& src) {
  return scatter_into(PickAction::Write, x, read_arguments(x, axis, index, src, info.name));
}

Tensor ScatterAdd::call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src) {
  const Arguments given = read_arguments(x, axis, index, src, info.name);
  return shaped_like(x, ScatterAddFn::apply(given.x, given.src, given.index, given.axis));
}

Tensor ScatterAdd::into(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src) {
  return scatter_into(PickAction::Add, x, read_arguments(x, axis, index, src, info.name));
}

Tensor ScatterReduce::call(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src,
                           std::string_view reduce, bool include_self) {
  const Arguments given = read_arguments(x, axis, index, src, info.name);
  return shaped_like(x, reduced(given, reduce, include_self, info.name));
}

Tensor PutAlongAxis::call(const Tensor& x, const Tensor& indices, const Operand& values, std::int64_t axis,
                          std::string_view reduce, bool include_self) {
  check_defined(x, info.name);
  check_defined(indices, info.name);
  if (x.ndim() != indices.ndim())
    fail<ValueError>("[put_along_axis] x has ", x.ndim(), " axes, indices ", indices.ndim());
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.ndim(), info.name));
  Dims shape = x.shape();
  shape[at] = indices.shape()[at];
  const Tensor index = index_along(x, broadcast_to(indices, shape), axis, info.name, true);
  Arguments given{x, index, {}, at};
  if (values.is_number()) {
    given.src = everywhere(values.number(), x, index);
  } else {
    check_same_device(x, values.tensor(), info.name);
    given.src = broadcast_to(cast(values.tensor(), x.dtype()), shape);
  }
  if (reduce == "assign") return ScatterFn<PickAction::Write>::apply(given.x, given.src, given.index, given.axis);
  return reduced(given, reduce, include_self, info.name);
}

}  // namespace lamella
