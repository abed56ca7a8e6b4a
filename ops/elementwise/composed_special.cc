#include "ops/elementwise/composed_special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/divisor.h"
#include "ops/elementwise/exponents.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/pow.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/special.h"
#include "ops/elementwise/where.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/promotion.h"

namespace lamella {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor is_number(const Tensor& x, double value, const OpInfo& info) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (is_floating(x.dtype())) return equal(x, value);
  return ZerosLike::call(x, DType::Bool, std::nullopt);
}

/// Returns the operands in one floating dtype.
std::array<Tensor, 2> in_one_float(const Operand& a, const Operand& b, const char* op) {
  const DType dtype = common_float(a, b, op);
  return {in_dtype(a, dtype), in_dtype(b, dtype)};
}

template <class T>
void divisors(const T* a, const T* b, T* to, std::int64_t n, bool multiple) {
  parallel_for(0, n, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = divisor_or_multiple_of(a[i], b[i], multiple);
  });
}

Tensor divisor_or_multiple(const OpInfo& info, const Tensor& a, const Tensor& b, bool multiple) {
  check_defined(a, info.name);
  check_defined(b, info.name);
  check_dtype(a, info.dtypes, info.name);
  check_dtype(b, info.dtypes, info.name);
  check_same_device(a, b, info.name);
  if (is_batched(a) || is_batched(b)) [[unlikely]] {
    const HiddenAxes axes = hidden_axes(pointers(a, b));
    const std::size_t ndim = std::max(a.ndim(), b.ndim());
    return hide_in_place(divisor_or_multiple(info, physical(a, axes, ndim), physical(b, axes, ndim), multiple), axes);
  }
  const Operand first(a), second(b);
  const Operand* const operands[] = {&first, &second};
  const DType dtype = promoted_dtype(operands);
  const Dims shape = broadcast_shapes(a.shape(), b.shape(), info.name);
  Tensor y = empty(shape, dtype, a.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  const bool has_kernel = has_device_kernel<&DeviceKernels::divisors>(y.device());
  if (!y.device().is_cpu() && !has_kernel) {
    const auto run_there = [&](const Tensor& x1, const Tensor& x2) {
      return divisor_or_multiple(info, x1, x2, multiple);
    };
    return on_host(info.name, y.device(), run_there, a, b);
  }
  const Tensor x1 = contiguous(broadcast_to(cast(a, dtype), shape));
  const Tensor x2 = contiguous(broadcast_to(cast(b, dtype), shape));
  if (has_kernel) {
    device_kernel<&DeviceKernels::divisors>(y.device(), info.name)(x1, x2, y, multiple, info.name);
    return y;
  }
  const HostRelease release(y.numel());
  visit<Integral>(dtype, info.name,
                  [&]<class T> { divisors(x1.data<T>(), x2.data<T>(), y.data<T>(), y.numel(), multiple); });
  return y;
}

/// -x log(x). Its derivative -1 - log(x) is written out: that of the product would be 0 times infinity at 0.
struct EntrLayer : OperatorLayer<EntrLayer> {
  static constexpr std::string_view name = "entr";

  static Tensor forward(Context& ctx, const Tensor& x) {
    if (ctx.recording()) ctx.save_for_backward(x);
    return where(less(x, 0), -kInfinity, negative(xlogy(x, x)));
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return dy * (-1 - log(x));
  }
  static Tensor jvp(Context& ctx, const Tensor& dx) { return backward(ctx, dx); }
};

}  // namespace

Tensor IsPosInf::call(const Tensor& x) { return is_number(x, kInfinity, info); }

Tensor IsNegInf::call(const Tensor& x) { return is_number(x, -kInfinity, info); }

Tensor IsReal::call(const Tensor& x) {
  check_defined(x, info.name);
  if (is_complex(x.dtype())) return equal(contiguous(imag(x)), 0);
  return OnesLike::call(x, DType::Bool, std::nullopt);
}

Tensor Xlog1py::call(const Operand& first, const Operand& second) {
  const auto [a, b] = in_one_float(first, second, info.name);
  // Where a is 0 and b is infinite or at most -1, b is taken as 0: the product and both derivatives are then 0.
  const Tensor plain = logical_or(logical_and(greater(b, -1), less(b, kInfinity)), isnan(b));
  const Tensor nothing = logical_and(equal(a, 0), logical_not(plain));
  return multiply(a, log1p(where(nothing, 0, b)));
}

Tensor Entr::call(const Tensor& given) { return EntrLayer::apply(as_floating(given, info.name)); }

Tensor Ndtr::call(const Tensor& x) {
  return multiply(erfc(multiply(as_floating(x, info.name), -std::numbers::sqrt2 / 2)), 0.5);
}

Tensor MvLgamma::call(const Tensor& given, std::int64_t p) {
  constexpr std::int64_t kMost = 1'000'000;
  if (p < 1 || p > kMost) fail<ValueError>("[mvlgamma] p must be from 1 to ", kMost, ", got ", p);
  const Tensor x = as_floating(given, info.name);
  const auto dimension = static_cast<double>(p);
  Tensor total = add(lgamma(x), dimension * (dimension - 1) / 4 * std::log(std::numbers::pi));
  for (std::int64_t j = 1; j < p; ++j) total = add(total, lgamma(subtract(x, static_cast<double>(j) / 2)));
  return total;
}

Tensor Ldexp::call(const Tensor& given, const Tensor& exponent) {
  const Tensor x = as_inexact(given, info.name);
  check_defined(exponent, info.name);
  const bool whole = !is_differentiable(exponent.dtype());
  if (is_complex(exponent.dtype())) return multiply(x, exp2(exponent));
  const DType dtype = whole ? x.dtype() : promote_types(x.dtype(), exponent.dtype());
  // 2 ** exponent may be beyond the range where the result is not. The powers of two here are not, and one of those
  // that float64 holds takes every narrower number from one end of its range past the other; of float64's own it takes
  // three.
  constexpr double kMost = 1000;
  Tensor y = cast(given, is_complex(dtype) ? DType::Complex128 : DType::Float64);
  Tensor rest = cast(exponent, DType::Float64);
  for (int step = real_dtype(dtype) == DType::Float64 ? 3 : 1; step > 0; --step) {
    const Tensor part = clip(rest, -kMost, kMost);
    y = multiply(y, exp2(part));
    if (step > 1) rest = subtract(rest, part);
  }
  return cast(y, dtype);
}

Tensor FloatPower::call(const Operand& a, const Operand& b) {
  bool complex = false;
  for (const Operand* x : {&a, &b}) {
    if (x->is_number()) {
      complex |= x->number().kind() == Scalar::Kind::Complex;
    } else {
      check_defined(x->tensor(), info.name);
      complex |= is_complex(x->tensor().dtype());
    }
  }
  const DType dtype = complex ? DType::Complex128 : DType::Float64;
  return pow(in_dtype(a, dtype), in_dtype(b, dtype));
}

Tensor Gcd::call(const Tensor& a, const Tensor& b) { return divisor_or_multiple(info, a, b, false); }

Tensor Lcm::call(const Tensor& a, const Tensor& b) { return divisor_or_multiple(info, a, b, true); }

}  // namespace lamella
