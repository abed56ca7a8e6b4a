#include "ops/elementwise/clip.h"

#include <array>
#include <limits>

#include "ops/elementwise/numbers.h"
#include "ops/elementwise/results.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/dtype_limits.h"
#include "ops/support/promotion.h"

namespace lamella {
namespace {

/// Returns the number that does not bound values of `dtype` from below or, if `above`, from above.
Operand no_bound(DType dtype, bool above) {
  if (is_floating(dtype)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return Scalar(above ? kInfinity : -kInfinity);
  }
  const IntegerLimits limits = integer_limits(dtype);
  return above ? Operand(Scalar(limits.max)) : Operand(Scalar(limits.min));
}

/// Returns a bound where it lies within the dtype of x, whose elements it would not change otherwise.
std::optional<Operand> bound_of(const Tensor& x, const std::optional<Operand>& bound, bool above) {
  return bound ? std::optional(within(*bound, x.dtype(), above)) : bound;
}

/// Returns both bounds for the kernel, or nothing if a missing bound cannot be replaced by a number.
std::optional<std::array<Operand, 2>> both_bounds(const Tensor& x, const std::optional<Operand>& min,
                                                  const std::optional<Operand>& max) {
  if (min && max) return {{*min, *max}};
  const Operand* const given = min ? &*min : max ? &*max : nullptr;
  if (!given || !given->is_number()) return std::nullopt;
  const DType dtype = with_number(x.dtype(), given->number().kind());
  if (!Clip::info.dtypes.contains(dtype) || dtype == DType::UInt64) return std::nullopt;
  return {{min ? *min : no_bound(dtype, false), max ? *max : no_bound(dtype, true)}};
}

}  // namespace

Tensor Clip::call(const Tensor& x, const std::optional<Operand>& lowest, const std::optional<Operand>& highest) {
  check_defined(x, info.name);
  if (!lowest && !highest) return clone(x);  // of any dtype
  const auto min = bound_of(x, lowest, false);
  const auto max = bound_of(x, highest, true);
  if (const auto bounds = both_bounds(x, min, max)) return ClipBetween::call(x, (*bounds)[0], (*bounds)[1]);
  // A single tensor bound uses where(), not maximum(), because the whole gradient passes at the bound.
  if (min) return where((x >= *min) | (x != x), x, *min);
  return max ? where((x <= *max) | (x != x), x, *max) : clone(x);
}

void Clip::into(const Tensor& x, const std::optional<Operand>& lowest, const std::optional<Operand>& highest) {
  if (!lowest && !highest) return;
  const auto min = bound_of(x, lowest, false);
  const auto max = bound_of(x, highest, true);
  if (const auto bounds = both_bounds(x, min, max)) {
    const Operand first(x);
    const Operand* const operands[] = {&first, &(*bounds)[0], &(*bounds)[1]};
    if (launch_into(elementwise_op<ClipBetween>(), operands, x)) return;
  }
  write_out(x, call(x, min, max), "clip_");
}

}  // namespace lamella
