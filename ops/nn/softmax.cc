#include "ops/nn/softmax.h"

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/log.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/random/random.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/caches.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 8192;  // elements per task

/// A tensor as [outer, width, inner] with the softmax's axis in the middle.
struct Slabs {
  std::int64_t outer = 1;
  std::int64_t width;
  std::int64_t inner = 1;

  Slabs(const Tensor& x, std::size_t axis) : width(x.shape()[axis]) {
    for (std::size_t i = 0; i < axis; ++i) outer *= x.shape()[i];
    for (std::size_t i = axis + 1; i < x.ndim(); ++i) inner *= x.shape()[i];
  }

  /// Calls f(offset, rows) for groups of rows along a last axis.
  template <class F>
  void for_each_part(F&& f) const {
    const HostRelease release(outer * width);
    parallel_for(0, outer, std::max<std::int64_t>(1, kGrain / width),
                 [&](std::int64_t begin, std::int64_t end) { f(begin * width, end - begin); });
  }

  /// Calls f(offset, columns) for groups of columns of each slab.
  template <class F>
  void for_each_columns(F&& f) const {
    constexpr std::int64_t kColumns = 64;
    const HostRelease release(outer * width * inner);
    const std::int64_t blocks = (inner + kColumns - 1) / kColumns;
    parallel_for(0, outer * blocks, std::max<std::int64_t>(1, kGrain / (width * std::min(inner, kColumns))),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t column = i % blocks * kColumns;
                     f(i / blocks * width * inner + column, std::min(kColumns, inner - column));
                   }
                 });
  }
};

template <class F>
void with_kernels(DType dtype, const char* op, F&& f) {
  const cpu::SoftmaxTable& table = cpu_kernels().softmax;
  if (dtype == DType::Float32) {
    f(table.float32, float());
  } else if (dtype == DType::Float64) {
    f(table.float64, double());
  } else {
    fail<NotImplementedError>("[", op, "] has no kernel for dtype ", dtype, " on the CPU");
  }
}

Tensor softmax_on_cpu(const Tensor& x, std::size_t axis, bool log) {
  Tensor y = empty_like(x);
  const Slabs slabs(x, axis);
  with_kernels(x.dtype(), softmax_name(log), [&]<class T>(const cpu::SoftmaxKernels<T>& kernels, T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    if (slabs.inner == 1) {
      const bool past_caches = outgrow_caches(x.nbytes() + y.nbytes());
      slabs.for_each_part([&](std::int64_t at, std::int64_t rows) {
        kernels.forward(from + at, to + at, rows, slabs.width, log, past_caches);
      });
    } else {
      slabs.for_each_columns([&](std::int64_t at, std::int64_t columns) {
        kernels.forward_columns(from + at, to + at, slabs.width, columns, slabs.inner, log);
      });
    }
  });
  return y;
}

Tensor gradient_on_cpu(const Tensor& y, const Tensor& dy, std::size_t axis, bool log) {
  Tensor dx = empty_like(y);
  const Slabs slabs(y, axis);
  with_kernels(y.dtype(), softmax_name(log), [&]<class T>(const cpu::SoftmaxKernels<T>& kernels, T) {
    if (slabs.inner == 1) {
      slabs.for_each_part([&](std::int64_t at, std::int64_t rows) {
        kernels.backward(y.data<T>() + at, dy.data<T>() + at, dx.data<T>() + at, rows, slabs.width, log);
      });
    } else {
      slabs.for_each_columns([&](std::int64_t at, std::int64_t columns) {
        kernels.backward_columns(y.data<T>() + at, dy.data<T>() + at, dx.data<T>() + at, slabs.width, columns,
                                 slabs.inner, log);
      });
    }
  });
  return dx;
}

[[maybe_unused]] const bool kRegistered =
    register_kernel<&DeviceKernels::softmax>(DeviceType::CPU, softmax_on_cpu) &&
    register_kernel<&DeviceKernels::softmax_gradient>(DeviceType::CPU, gradient_on_cpu);

/// `axis` counts from the end, because hidden axes are in front.
Tensor run_forward(const Tensor& given, std::size_t axis_from_end, bool log) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return run_forward(shown, axis_from_end, log); }, given);
  const Tensor x = contiguous(given);
  if (x.device().is_meta() || x.numel() == 0) return empty_like(x);
  return device_kernel<&DeviceKernels::softmax>(x.device(), softmax_name(log))(x, x.ndim() - axis_from_end, log);
}

Tensor run_backward(const Tensor& output, const Tensor& given, std::size_t axis_from_end, bool log) {
  if (is_batched(output) || is_batched(given)) [[unlikely]] {
    const auto run = [&](const Tensor& y, const Tensor& dy) { return run_backward(y, dy, axis_from_end, log); };
    return over_examples(run, output, given);
  }
  const Tensor y = contiguous(output);
  if (y.device().is_meta() || y.numel() == 0) return empty_like(y);
  const auto kernel = device_kernel<&DeviceKernels::softmax_gradient>(y.device(), softmax_name(log));
  return kernel(y, contiguous(given), y.ndim() - axis_from_end, log);
}

/// dx = y (dy - sum(dy y)), and dy - exp(y) sum(dy) for the logarithm. `axis` counts from the end: -1 is the last one.
template <bool kLog>
struct SoftmaxFn : OperatorLayer<SoftmaxFn<kLog>> {
  static constexpr const char* name = softmax_name(kLog);

  static Tensor forward(Context& ctx, const Tensor& x, std::int64_t axis) {
    Tensor y = run_forward(x, static_cast<std::size_t>(-axis), kLog);
    ctx.template state<std::int64_t>() = axis;
    ctx.save_for_backward(y);
    return y;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    const std::int64_t axis = ctx.template state<std::int64_t>();
    const Tensor operands[] = {y, dy};
    // An extension's device may have kernels for the parts of the formula only, and no fallback to the host.
    const bool fused = !is_extension(y.device()) || falls_back_to_host(y.device());
    if (fused && !autograd::is_grad_enabled() && !autograd::any_dual(operands))
      return {run_backward(y, dy, static_cast<std::size_t>(-axis), kLog)};
    if constexpr (kLog) {
      return {dy - exp(y) * sum(dy, axis, true)};
    } else {
      return {y * (dy - sum(dy * y, axis, true))};
    }
  }
  /// The Jacobian of softmax is symmetric; that of its logarithm gives dx - sum(exp(y) dx).
  static Tensor jvp(Context& ctx, const Tensor& dx) {
    if constexpr (!kLog) return backward(ctx, dx)[0];
    const auto [y] = ctx.saved_tensors<1>();
    return dx - sum(exp(y) * dx, ctx.template state<std::int64_t>(), true);
  }
};

template <bool kLog>
Tensor along_axis(const Tensor& given, std::int64_t axis, const OpInfo& info) {
  const Tensor floating = as_floating(given, info.name);
  if (!(DTypeSet{DType::Float32, DType::Float64}).contains(floating.dtype()) && floating.device().is_cpu()) {
    // Low precision is computed in float32.
    return cast(along_axis<kLog>(cast(floating, DType::Float32), axis, info), floating.dtype());
  }
  const Tensor& x = floating;
  if (x.ndim() == 0) {
    // A 0-d tensor counts as having one axis of size 1.
    normalize_axis(axis, 1, info.name);
    return kLog ? x * 0 : x * 0 + 1;
  }
  const auto ndim = static_cast<std::int64_t>(x.ndim());
  const std::int64_t from_end = static_cast<std::int64_t>(normalize_axis(axis, x.ndim(), info.name)) - ndim;
  if (from_end == -1 || x.device().is_cpu() || x.device().is_meta()) return SoftmaxFn<kLog>::apply(x, from_end);
  return contiguous(swapaxes(SoftmaxFn<kLog>::apply(swapaxes(x, from_end, -1), -1), from_end, -1));
}

/// Returns x cast to the requested dtype.
Tensor cast_first(const Tensor& x, DType dtype, const OpInfo& info) {
  check_defined(x, info.name);
  if (!is_floating(dtype)) fail<TypeError>("[", info.name, "] dtype must be floating, got ", dtype);
  return cast(x, dtype);
}

/// Returns -log(e) for exponential numbers e.
Tensor gumbel_noise(const Tensor& x, Generator* generator) {
  const Tensor u = rand(x.shape(), x.dtype(), x.device(), generator);
  return -log(clip(-log1p(-u), Operand(0x1p-64), std::nullopt));
}

}  // namespace

Tensor Softmax::call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype) {
  if (dtype) return call(cast_first(x, *dtype, info), axis, std::nullopt);
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Softmax>(x, axis, dtype);
  if (x.defined() && is_wide_integer(x.dtype())) return cast(call(cast(x, DType::Float64), axis, dtype), kDefaultFloat);
  return along_axis<false>(x, axis, info);
}
Tensor LogSoftmax::call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype) {
  if (dtype) return call(cast_first(x, *dtype, info), axis, std::nullopt);
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<LogSoftmax>(x, axis, dtype);
  if (x.defined() && is_wide_integer(x.dtype())) return cast(call(cast(x, DType::Float64), axis, dtype), kDefaultFloat);
  return along_axis<true>(x, axis, info);
}
Tensor Softmin::call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype) {
  if (dtype) return call(cast_first(x, *dtype, info), axis, std::nullopt);
  if (x.defined() && is_wide_integer(x.dtype())) return cast(call(cast(x, DType::Float64), axis, dtype), kDefaultFloat);
  return along_axis<false>(-as_floating(x, info.name), axis, info);
}

Tensor GumbelSoftmax::call(const Tensor& x, double tau, bool hard, std::int64_t axis, Generator* generator) {
  check_defined(x, info.name);
  if (!(tau > 0)) fail<ValueError>("[gumbel_softmax] tau must be above 0, got ", tau);
  check_generator(info.name, generator, x.device());
  const Tensor logits = as_floating(x, info.name);
  Tensor soft = softmax((logits + gumbel_noise(logits, generator)) / tau, axis);
  if (!hard || soft.ndim() == 0) return soft;
  const auto at = static_cast<std::int64_t>(normalize_axis(axis, soft.ndim(), info.name));
  Dims along(soft.ndim(), 1);
  along[static_cast<std::size_t>(at)] = soft.size(at);
  const Tensor number = reshape(arange(0, Scalar(soft.size(at)), 1, DType::Int64, soft.device()), along);
  const Tensor chosen = cast(number == argmax(soft, at, true), soft.dtype());
  return chosen - soft.detach() + soft;
}

}  // namespace lamella
