#include "ops/special/rule.h"

#include <string>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/order.h"
#include "ops/support/strided.h"

namespace lamella::special {
namespace {

constexpr std::int64_t kWork = 16;  // cost of an element, relative to an addition

Tensor empty_in_order_of(const Tensor& x) {
  const Tensor* const operands[] = {&x};
  return empty_in_order(operands, x.shape(), x.dtype(), x.device());
}

/// Returns a dense copy with the axes in x's order, those of examples in front.
Tensor copy_in_order(const Tensor& x, const char* op) {
  const Tensor copy = empty_in_order_of(x);
  write_values(copy, x, op);
  return copy;
}

Tensor evaluated(const Rule& rule, const Tensor& given) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return evaluated(rule, shown); }, copy_in_order(given, rule.name));
  Tensor y = empty_in_order_of(given);
  const std::int64_t n = y.numel();
  if (y.device().is_meta() || n == 0) return y;
  if (!y.device().is_cpu() && !has_device_kernel<&DeviceKernels::special>(y.device()))
    return on_host(rule.name, y.device(), [&](const Tensor& host) { return evaluated(rule, host); }, given);
  // One pass over both if their layout is the same, else over a copy.
  const Tensor x = given.strides() == y.strides() ? given : copy_in_order(given, rule.name);
  if (!y.device().is_cpu()) {
    device_kernel<&DeviceKernels::special>(y.device(), rule.name)(rule.function, x, y, rule.name);
    return y;
  }
  const cpu::SpecialFunction& function = cpu_kernels().special[rule.function];
  const HostRelease release(n * kWork);
  parallel_for(0, n, even_grain(n, kWork), [&](std::int64_t begin, std::int64_t end) {
    if (x.dtype() == DType::Float32) {
      function.float32(x.data<float>() + begin, y.data<float>() + begin, end - begin);
    } else {
      function.float64(x.data<double>() + begin, y.data<double>() + begin, end - begin);
    }
  });
  return y;
}

struct SpecialLayer : OperatorLayer<SpecialLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const Rule*>(ctx.tag)->name; }

  static Tensor forward(Context& ctx, const Tensor& x, const Rule* rule) {
    ctx.tag = rule;
    Tensor y = evaluated(*rule, x);
    if (ctx.recording()) ctx.save_for_backward(rule->reads_x ? x : Tensor(), rule->reads_y ? y : Tensor());
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    return dy * static_cast<const Rule*>(ctx.tag)->slope(x, y);
  }
  static Tensor jvp(Context& ctx, const Tensor& dx) { return backward(ctx, dx); }
};

}  // namespace

Tensor apply(const Rule& rule, const Tensor& x) { return SpecialLayer::apply(x, &rule); }

Tensor call(const Rule& rule, const Tensor& given) {
  if (given.defined() && is_wide_integer(given.dtype()))
    return cast(apply(rule, cast(given, DType::Float64)), kDefaultFloat);
  const Tensor x = as_floating(given, rule.name);
  if (x.dtype() == DType::Float32 || x.dtype() == DType::Float64) return apply(rule, x);
  return cast(apply(rule, cast(x, DType::Float32)), x.dtype());
}

Tensor power_series(std::span<const double> c, const Tensor& x) {
  Tensor sum = zeros_like(x) + c.back();
  for (std::size_t k = c.size() - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

}  // namespace lamella::special
