#include <algorithm>

#include "engine/autograd/tangents/duals.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/complex.h"
#include "ops/movement/cast.h"
#include "ops/reduce/accumulation.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/scan/cumulative.h"
#include "ops/scan/recurrence.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr std::int64_t kColumnBlock = 64;  // adjacent columns per task

/// Computes the product as a tree of multiplications: halves of the axis are multiplied until one element is left. The
/// tree has derivatives of every order, also at zeros.
Tensor recorded_product(const Tensor& x, const Dims& axes, bool keepdims) {
  Dims order;
  std::int64_t n = 1;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end())
      order.push_back(static_cast<std::int64_t>(i));
  }
  const std::size_t kept = order.size();
  for (const std::int64_t axis : axes) {
    order.push_back(axis);
    n *= x.shape()[static_cast<std::size_t>(axis)];
  }
  Tensor y = permute_dims(x, order);
  Dims shape(y.shape().begin(), y.shape().begin() + kept);
  shape.push_back(n);
  y = reshape(y, shape);
  TensorList left_over;  // the last element of each odd length
  for (; n > 1; n /= 2) {
    if (n % 2 == 1) left_over.push_back(narrow(y, -1, n - 1, 1));
    y = multiply(narrow(y, -1, 0, n / 2), narrow(y, -1, n / 2, n / 2));
  }
  for (const Tensor& element : left_over) y = multiply(y, element);
  return reshape(y, reduced_shape(x, axes, keepdims));
}

/// Returns dy times the conjugate of the product of all other elements along the middle axis; off the tape.
Tensor times_others(const Tensor& given, const Tensor& dy) {
  const Tensor x = contiguous(given);
  const Tensor factors = contiguous(dy);
  const Tensor dx = empty_like(x);
  if (x.numel() == 0) return dx;
  const Along along(x.shape(), 1);
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  const auto dtype = static_cast<std::size_t>(x.dtype());
  const HostRelease release(x.numel());
  if (along.inner == 1) {
    const auto kernel = require_kernel(cpu_kernels().reduce.other_rows[dtype], "prod", x.dtype());
    parallel_for(0, along.outer, std::max<std::int64_t>(1, kElementGrain / along.n),
                 [&](std::int64_t begin, std::int64_t end) {
                   const std::int64_t offset = begin * along.n * item;
                   kernel(x->data + offset, factors->data + begin * item, dx->data + offset, along.n, end - begin);
                 });
    return dx;
  }
  const auto kernel = require_kernel(cpu_kernels().reduce.other_columns[dtype], "prod", x.dtype());
  const std::int64_t blocks = (along.inner + kColumnBlock - 1) / kColumnBlock;
  const std::int64_t work = along.n * std::min(along.inner, kColumnBlock);
  parallel_for(0, along.outer * blocks, std::max<std::int64_t>(1, kElementGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t column = i % blocks * kColumnBlock;
                   const std::int64_t offset = (i / blocks * along.n * along.inner + column) * item;
                   kernel(x->data + offset, factors->data + (i / blocks * along.inner + column) * item,
                          dx->data + offset, along.inner, along.n, std::min(kColumnBlock, along.inner - column));
                 }
               });
  return dx;
}

/// Product along the middle axis of [outer, n, inner]. The gradient of a factor is dy times the product of the others,
/// computed without a division, so that it is exact at zeros.
struct ProdFn : OperatorLayer<ProdFn> {
  static constexpr std::string_view name = "prod";

  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return reduce(cpu::Reduction::Prod, x, Dims{1}, false, "prod");
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    const Tensor operands[] = {x, dy};
    if (autograd::is_grad_enabled() || autograd::any_dual(operands) || is_batched(dy) || is_batched(x)) {
      const Tensor before = shifted(CumProd::call(x, 1, std::nullopt), 1, 1, false);
      const Tensor behind = flip(shifted(CumProd::call(flip(x, Dims{1}), 1, std::nullopt), 1, 1, false), Dims{1});
      return multiply(expand_dims(dy, 1), conj(multiply(before, behind)));
    }
    const bool low = item_size(x.dtype()) == 2;
    if (low) return cast(times_others(cast(x, DType::Float32), cast(dy, DType::Float32)), x.dtype());
    return times_others(x, dy);
  }
};

/// Returns x as [outer, n, inner] with the reduced axes merged into the middle one: in place if they are neighbors,
/// otherwise moved to the end.
Tensor with_one_axis(const Tensor& x, const Dims& axes) {
  const bool neighbors = !axes.empty() && axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
  std::int64_t outer = 1;
  std::int64_t n = 1;
  for (const std::int64_t axis : axes) n *= x.shape()[static_cast<std::size_t>(axis)];
  if (neighbors) {
    for (std::int64_t i = 0; i < axes.front(); ++i) outer *= x.shape()[static_cast<std::size_t>(i)];
    return reshape(x, Dims{outer, n, x.numel() / outer / n});
  }
  Dims order;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end())
      order.push_back(static_cast<std::int64_t>(i));
  }
  for (const std::int64_t axis : axes) order.push_back(axis);
  return reshape(permute_dims(x, order), Dims{x.numel() / n, n, 1});
}

}  // namespace

Tensor Prod::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, std::optional<DType> dtype) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Prod>(x, axis, keepdims, dtype);
  check_defined(x, "prod");
  const Dims axes = normalize_axes_or_scalar(x, axis, "prod");
  const Tensor values = in_accumulation_dtype(x, dtype);
  const Tensor* const inputs[] = {&values};
  const bool has_tangent = autograd::any_dual(std::span(&values, 1));
  const bool recorded = autograd::should_record(inputs) || has_tangent;
  Tensor y;
  if (!recorded) {
    y = reduce(cpu::Reduction::Prod, values, axes, keepdims, "prod");
    note_unrecorded("prod", inputs, y);
  } else if (values.numel() == 0) {
    y = add(sum(values, axes, keepdims), 1);  // an empty product is 1; the sum keeps it connected to x
  } else if (has_tangent || is_batched(values) || !values.device().is_cpu()) {
    y = recorded_product(values, axes, keepdims);
  } else {
    y = reshape(ProdFn::apply(with_one_axis(values, axes)), reduced_shape(values, axes, keepdims));
  }
  return dtype ? cast(y, *dtype) : y;
}

}  // namespace lamella
