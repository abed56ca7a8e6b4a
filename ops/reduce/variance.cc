#include "ops/reduce/variance.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "engine/autograd/layers/function.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/parts.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/reduce/norm_range.h"
#include "ops/reduce/power_norm.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 32768;       // elements that one thread takes at a time
constexpr std::int64_t kChunk = 65536;       // elements of a long row per partial result
constexpr std::int64_t kColumnBlock = 1024;  // columns per task

template <class T>
const cpu::MomentKernels<T>& kernels() {
  return cpu::kernels_of<T>(cpu_kernels().moments);
}

/// Returns the sum of squares of a long row, computed in chunks that are combined in a fixed order.
template <class T>
double squares_of_row(const T* x, std::int64_t n) {
  const std::int64_t chunks = (n + kChunk - 1) / kChunk;
  std::vector<double> means(static_cast<std::size_t>(chunks));
  std::vector<double> squares(static_cast<std::size_t>(chunks));
  parallel_for(0, chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const auto at = static_cast<std::size_t>(c);
      kernels<T>().row(x + c * kChunk, std::min(kChunk, n - c * kChunk), &means[at], &squares[at]);
    }
  });
  // Combines chunks pairwise: neighbors first, then pairs of neighbors, and so on.
  for (std::int64_t width = 1; width < chunks; width *= 2) {
    for (std::int64_t c = 0; c + width < chunks; c += 2 * width) {
      const auto a = static_cast<std::size_t>(c);
      const auto b = static_cast<std::size_t>(c + width);
      kernels<T>().combine(1, width * kChunk, &means[a], &squares[a],
                           std::min(width * kChunk, n - (c + width) * kChunk), &means[b], &squares[b]);
    }
  }
  return squares[0];
}

/// Writes finish(sum of squared distances from the mean along the middle one of three axes), computed in double.
template <class T, class Finish>
void squares_along(const Tensor& x, const Along& along, const Tensor& out, Finish finish) {
  const HostRelease release(x.numel());
  const T* from = x.data<T>();
  T* to = out.data<T>();
  if (along.inner == 1) {
    if (along.outer == 1) {
      *to = static_cast<T>(finish(squares_of_row(from, along.n)));
      return;
    }
    parallel_for(0, along.outer, std::max<std::int64_t>(1, kGrain / along.n),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     double mean;
                     double squares;
                     kernels<T>().row(from + r * along.n, along.n, &mean, &squares);
                     to[r] = static_cast<T>(finish(squares));
                   }
                 });
    return;
  }
  const std::int64_t blocks = (along.inner + kColumnBlock - 1) / kColumnBlock;
  const std::int64_t work = along.n * std::min(along.inner, kColumnBlock);
  parallel_for(0, along.outer * blocks, std::max<std::int64_t>(1, kGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 double means[kColumnBlock];
                 double squares[kColumnBlock];
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t column = i % blocks * kColumnBlock;
                   const std::int64_t width = std::min(kColumnBlock, along.inner - column);
                   kernels<T>().columns(from + i / blocks * along.n * along.inner + column, along.inner, along.n, width,
                                        means, squares);
                   std::transform(squares, squares + width, to + i / blocks * along.inner + column,
                                  [&](double sum) { return static_cast<T>(finish(sum)); });
                 }
               });
}

/// Returns x with the reduced axes merged into one, and the index of that axis: in place if they are neighbors,
/// otherwise at the end.
std::pair<Tensor, std::int64_t> with_one_axis(const Tensor& x, const Dims& axes) {
  const bool neighbors = axes.empty() || axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
  Dims order;
  Dims shape;
  std::int64_t n = 1;
  std::int64_t at = 0;
  for (const std::int64_t axis : axes) n *= x.shape()[static_cast<std::size_t>(axis)];
  const auto place = [&] {
    at = static_cast<std::int64_t>(shape.size());
    for (const std::int64_t axis : axes) order.push_back(axis);
    shape.push_back(n);
  };
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    const bool reduced = std::ranges::find(axes, static_cast<std::int64_t>(i)) != axes.end();
    if (reduced) {
      if (neighbors && static_cast<std::int64_t>(i) == axes.front()) place();
    } else {
      order.push_back(static_cast<std::int64_t>(i));
      shape.push_back(x.shape()[i]);
    }
  }
  if (axes.empty() || !neighbors) place();
  return {reshape(permute_dims(x, order), shape), at};
}

/// Returns the variances, or the standard deviations, as far as squares in x's dtype, or in double for float32 on the
/// CPU, are within the range of numbers; not recorded. `x` is float32 or float64.
template <bool kRoot>
Tensor spread(const Tensor& x, const Dims& axes, double divisor, const char* op) {
  if (is_batched(x)) [[unlikely]] {
    const HiddenAxes hidden = *x->hidden;
    Dims behind = axes;
    for (std::int64_t& axis : behind) axis += static_cast<std::int64_t>(hidden.size());
    return hide_in_place(spread<kRoot>(physical(x, hidden), behind, divisor, op), hidden);
  }
  Tensor out = empty(reduced_shape(x, axes, false), x.dtype(), x.device());
  if (out.device().is_meta() || out.numel() == 0) return out;
  if (!x.device().is_cpu() || x.numel() == 0) {
    const Tensor squares = x.numel() == 0 ? zeros_like(out) : sum(square(centered(x, axes)), axes);
    const Tensor mean_square = divide(squares, divisor);
    return kRoot ? sqrt(mean_square) : mean_square;
  }
  const auto [turned, at] = with_one_axis(x, axes);
  const Tensor whole = contiguous(turned);
  const auto finish = [divisor](double squares) { return kRoot ? std::sqrt(squares / divisor) : squares / divisor; };
  visit<DTypeSet{DType::Float32, DType::Float64}>(
      x.dtype(), op, [&]<class T>() { squares_along<T>(whole, Along(whole.shape(), at), out, finish); });
  return out;
}

/// True if squares in double that standard deviations on the CPU were computed from may have been beyond its range.
bool is_beyond(const Tensor& given) {
  if (given.dtype() != DType::Float64) return false;
  const Tensor deviations = is_batched(given) ? contiguous(physical(given, *given->hidden)) : given;
  const std::span<const double> all(deviations.data<double>(), static_cast<std::size_t>(deviations.numel()));
  return std::ranges::any_of(all, [](double y) { return is_beyond_range(y * y); });
}

/// Returns the standard deviations; not recorded.
Tensor deviations(const Tensor& x, const Dims& axes, double divisor) {
  if (x.device().is_cpu()) {
    Tensor y = spread<true>(x, axes, divisor, "std");
    if (!is_beyond(y)) return y;
  }
  return divide(power_norm(centered(x, axes), axes, false, 2), std::sqrt(divisor));
}

/// dx = 2 (x - mean) / (n - correction) dy. For the standard deviation, of which y is the result, dy / (2 y) replaces
/// dy.
template <bool kRoot>
struct VarianceFn : Function<VarianceFn<kRoot>> {
  static constexpr const char* name = kRoot ? "std" : "var";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& axes, double divisor) {
    Tensor y = kRoot ? deviations(x, axes, divisor) : spread<false>(x, axes, divisor, name);
    if (ctx.recording()) {
      ctx.template state<Call>() = {axes, divisor};
      if constexpr (kRoot) {
        ctx.save_for_backward(x, y);
      } else {
        ctx.save_for_backward(x);
      }
    }
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const TensorList saved = ctx.saved_tensors();
    const Tensor& x = saved[0];
    const auto& [axes, divisor] = ctx.template state<Call>();
    Tensor scale = multiply(dy, (kRoot ? 1 : 2) / divisor);
    if constexpr (kRoot) {
      // The standard deviation has no derivative where all elements are equal; its gradient is 0 there, as in PyTorch.
      const Tensor flat = equal(saved[1], 0.0);
      scale = where(flat, 0.0, divide(scale, where(flat, 1.0, saved[1])));
    }
    return multiply(centered(x, axes), reshape(scale, reduced_shape(x, axes, true)));
  }

 private:
  struct Call {
    Dims axes;
    double divisor = 1;
  };
};

template <bool kRoot>
Tensor variance(const OpInfo& info, const Tensor& given, const std::optional<Dims>& axis, double correction,
                bool keepdims) {
  check_defined(given, info.name);
  if (is_wide_integer(given.dtype()))
    return cast(variance<kRoot>(info, cast(given, DType::Float64), axis, correction, keepdims), kDefaultFloat);
  // The variance of complex numbers is the sum of the variances of their parts.
  if (is_complex(given.dtype())) {
    const Tensor along = variance<kRoot>(info, real(given), axis, correction, keepdims);
    const Tensor across = variance<kRoot>(info, imag(given), axis, correction, keepdims);
    return kRoot ? hypot(along, across) : add(along, across);
  }
  const Tensor floating = as_floating(given, info.name);
  // 16-bit floats are computed in float32 and rounded once.
  const bool half = is_half(floating.dtype());
  const Tensor x = half ? cast(floating, DType::Float32) : floating;
  const Dims axes = normalize_axes_or_scalar(x, axis, info.name);
  double n = 1;
  for (const std::int64_t a : axes) n *= static_cast<double>(x.shape()[static_cast<std::size_t>(a)]);
  const Tensor y = VarianceFn<kRoot>::apply(x, axes, std::max(0.0, n - correction));
  const Tensor shaped = keepdims ? reshape(y, reduced_shape(x, axes, true)) : y;
  return half ? cast(shaped, given.dtype()) : shaped;
}

}  // namespace

Tensor centered(const Tensor& x, const Dims& axes) {
  const Tensor once = subtract(x, mean(x, axes, true));
  return subtract(once, mean(once, axes, true));
}

Tensor Var::call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims) {
  return variance<false>(info, x, axis, correction, keepdims);
}
Tensor Std::call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims) {
  return variance<true>(info, x, axis, correction, keepdims);
}

}  // namespace lamella
