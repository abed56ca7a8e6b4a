#include "ops/reduce/power_norm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/pow.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/reduce/norm_range.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/sum.h"
#include "ops/simd/convert.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/extension_device.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr const char* kName = "power_norm";

/// An axis, with its stride in elements.
struct Axis {
  std::int64_t size;
  std::int64_t stride;
};

/// Returns the offset of element i of the axes, counted with the last axis fastest.
std::int64_t offset_of(const std::vector<Axis>& axes, std::int64_t i) {
  std::int64_t offset = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    offset += i % axis->size * axis->stride;
    i /= axis->size;
  }
  return offset;
}

template <class T, class Wide>
void rescale(const Tensor& x, const Dims& axes, double p, const Tensor& totals, const Tensor& norms) {
  const Wide* const total = totals.data<Wide>();
  const std::int64_t results = norms.numel();
  std::vector<std::int64_t> lost;
  bool all_zero = true;
  for (std::int64_t i = 0; i < results; ++i) {
    if (!is_beyond_range(total[i])) continue;
    lost.push_back(i);
    all_zero &= total[i] == 0;
  }
  if (lost.empty()) return;
  // Finds out quickly about what is mostly the case: that all elements are 0.
  if (all_zero && p > 0) {
    const Tensor any = reduce(cpu::Reduction::Any, x, axes, false, kName);
    std::erase_if(lost, [&](std::int64_t i) { return !any.data<bool>()[i]; });
  }
  std::vector<Axis> kept;
  std::vector<Axis> reduced;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    const bool gone = std::ranges::find(axes, static_cast<std::int64_t>(i)) != axes.end();
    (gone ? reduced : kept).push_back({x.shape()[i], x.strides()[i]});
  }
  const std::int64_t n = x.numel() / results;
  const HostRelease release(static_cast<std::int64_t>(lost.size()) * n);
  parallel_for(0, static_cast<std::int64_t>(lost.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t result = lost[static_cast<std::size_t>(k)];
      const T* const from = x.data<T>() + offset_of(kept, result);
      const auto magnitude = [&](std::int64_t i) { return std::abs(convert<double>(from[offset_of(reduced, i)])); };
      ScaledNorm norm(p);
      for (std::int64_t i = 0; i < n; ++i) norm.measure(magnitude(i));
      for (std::int64_t i = 0; i < n; ++i) norm.add(magnitude(i));
      norms.data<Wide>()[result] = static_cast<Wide>(norm.result());
    }
  });
}

void rescale_on_cpu(const Tensor& x, const Dims& axes, double p, const Tensor& totals, const Tensor& norms,
                    const char* op) {
  visit<Floating>(x.dtype(), op, [&]<class T>() {
    using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
    rescale<T, Wide>(x, axes, p, totals, norms);
  });
}

[[maybe_unused]] const bool kRegistered =
    register_kernel<&DeviceKernels::rescale_norms>(DeviceType::CPU, rescale_on_cpu);

/// Computes the norms; not recorded.
Tensor norms_of(const Tensor& x, const Dims& axes, bool keepdims, double p) {
  if (is_batched(x)) [[unlikely]] {
    Dims behind = axes;
    for (std::int64_t& axis : behind) axis += static_cast<std::int64_t>(x->hidden->size());
    return hide_in_place(norms_of(physical(x, *x->hidden), behind, keepdims, p), *x->hidden);
  }
  const DType wide = item_size(x.dtype()) == 2 ? DType::Float32 : x.dtype();
  const Tensor totals = p == 2 ? reduce(cpu::Reduction::SquareSum, x, axes, keepdims, kName, wide)
                               : reduce(cpu::Reduction::Sum, pow(abs(x), p), axes, keepdims, kName);
  Tensor norms = p == 2 ? sqrt(totals) : pow(totals, 1 / p);
  if (!norms.device().is_meta() && norms.numel() != 0 && x.numel() != 0)
    device_kernel<&DeviceKernels::rescale_norms>(x.device(), kName)(x, axes, p, totals, norms, kName);
  return norms;
}

/// dx = sign(x) (|x| / y)^(p - 1) dy.
struct PowerNormLayer : OperatorLayer<PowerNormLayer> {
  static constexpr std::string_view name = kName;

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& axes, bool keepdims, double p) {
    remember_axes(ctx, x, axes);
    Tensor y = norms_of(x, axes, keepdims, p);
    save_with<double>(ctx, p, x, y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [saved, result] = ctx.saved_tensors<2>();
    const double p = ctx.state<double>();
    const Tensor y = with_reduced_axes(ctx, result);
    const Tensor none = equal(y, 0);
    const Tensor shares = divide(cast(saved, y.dtype()), where(none, 1, y));
    const Tensor scale = where(none, 0, with_reduced_axes(ctx, dy));
    const Tensor slopes = p == 2 ? shares : multiply(sign(shares), power_or_zero(abs(shares), p - 1));
    return cast(multiply(slopes, scale), saved.dtype());
  }
};

}  // namespace

Tensor power_or_zero(const Tensor& x, double p) {
  if (p >= 1 && p == std::floor(p)) return p == 1 ? x : p == 2 ? square(x) : pow(x, p);
  const Tensor zero = equal(x, 0);
  return where(zero, 0, pow(where(zero, 1, x), p));
}

Tensor root_or_zero(const Tensor& x, double p) {
  if (p == 1) return x;
  const Tensor zero = equal(x, 0);
  const Tensor positive = where(zero, 1, x);
  return where(zero, 0, p == 2 ? sqrt(positive) : pow(positive, 1 / p));
}

Tensor power_norm(const Tensor& x, const Dims& axes, bool keepdims, double p) {
  if (is_extension(x.device()))  // composed of operators for which the extension may have kernels
    return root_or_zero(sum(p == 2 ? square(x) : power_or_zero(abs(x), p), axes, keepdims), p);
  return PowerNormLayer::apply(x, axes, keepdims, p);
}

}  // namespace lamella
