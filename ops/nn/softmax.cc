#include "ops/nn/softmax.h"

#include <array>

#include "engine/autograd/function.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/cpu/loader.h"
#include "ops/elementwise/list.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/shape/permute.h"
#include "ops/support/autocast.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 8192;  // elements that one thread takes at a time

std::array<SoftmaxLauncher, kDeviceTypeCount> launchers{};

const SoftmaxLauncher& launcher_of(Device device, const char* op) {
  const SoftmaxLauncher& launcher = launchers[static_cast<std::size_t>(device.type)];
  if (!launcher.forward) fail<NotImplementedError>("[", op, "] has no kernel for device ", device);
  return launcher;
}

struct Rows {
  std::int64_t count;
  std::int64_t width;
  explicit Rows(const Tensor& x) : width(x.shape().back()) { count = width ? x.numel() / width : 0; }

  template <class F>
  void for_each_part(F&& f) const {
    const HostRelease release(count * width);
    parallel_for(0, count, std::max<std::int64_t>(1, kGrain / width), f);
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

Tensor run_forward(const Tensor& given, bool log, const char* op) {
  if (is_batched(given)) [[unlikely]]
    return hide_in_place(run_forward(physical(given, *given->hidden), log, op), *given->hidden);
  const Tensor x = contiguous(given);
  const Tensor y = empty_like(x);
  if (y.device().is_meta() || y.numel() == 0) return y;
  const Rows rows(x);
  if (!x.device().is_cpu()) {
    launcher_of(x.device(), op).forward(x.device(), x.dtype(), x.raw_data(), y.raw_data(), rows.count, rows.width, log);
    return y;
  }
  with_kernels(x.dtype(), op, [&]<class T>(const cpu::SoftmaxKernels<T>& kernels, T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    rows.for_each_part([&](std::int64_t begin, std::int64_t end) {
      kernels.forward(from + begin * rows.width, to + begin * rows.width, end - begin, rows.width, log);
    });
  });
  return y;
}

Tensor run_backward(const Tensor& output, const Tensor& given, bool log, const char* op) {
  if (is_batched(output) || is_batched(given)) [[unlikely]] {
    const HiddenAxes axes = hidden_axes(pointers(output, given));
    const auto whole = [&](const Tensor& x) { return physical(x, axes, 0, MissingAxis::Repeated); };
    return hide_in_place(run_backward(whole(output), whole(given), log, op), axes);
  }
  const Tensor y = contiguous(output);
  const Tensor dy = contiguous(given);
  const Tensor dx = empty_like(y);
  if (dx.device().is_meta() || dx.numel() == 0) return dx;
  const Rows rows(y);
  if (!y.device().is_cpu()) {
    launcher_of(y.device(), op)
        .backward(y.device(), y.dtype(), y.raw_data(), dy.raw_data(), dx.raw_data(), rows.count, rows.width, log);
    return dx;
  }
  with_kernels(y.dtype(), op, [&]<class T>(const cpu::SoftmaxKernels<T>& kernels, T) {
    rows.for_each_part([&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * rows.width;
      kernels.backward(y.data<T>() + at, dy.data<T>() + at, dx.data<T>() + at, end - begin, rows.width, log);
    });
  });
  return dx;
}

/// Along the last axis. dx = y (dy - sum(dy y)), and dy - exp(y) sum(dy) for the logarithm.
template <bool kLog>
struct SoftmaxFn : Function<SoftmaxFn<kLog>> {
  static constexpr bool kChecksGradients = false;
  static constexpr const char* name = kLog ? "log_softmax" : "softmax";

  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = run_forward(x, kLog, name);
    ctx.save_for_backward(y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    const Tensor operands[] = {y, dy};
    if (!autograd::is_grad_enabled() && !autograd::any_dual(operands)) return run_backward(y, dy, kLog, name);
    if constexpr (kLog) {
      return dy - exp(y) * sum(dy, -1, true);
    } else {
      return y * (dy - sum(dy * y, -1, true));
    }
  }
  /// The Jacobian of softmax is symmetric; that of its logarithm gives dx - sum(exp(y) dx).
  static Tensor jvp(Context& ctx, const Tensor& dx) {
    if constexpr (!kLog) return backward(ctx, dx);
    const auto [y] = ctx.saved_tensors<1>();
    return dx - sum(exp(y) * dx, -1, true);
  }
};

template <bool kLog>
Tensor along_axis(const Tensor& given, std::int64_t axis, const OpInfo& info) {
  const Tensor x = is_integral(given.dtype()) ? cast(given, DType::Float32) : given;
  if (!info.dtypes.contains(x.dtype())) fail<TypeError>("[", info.name, "] does not take dtype ", x.dtype());
  if (x.ndim() == 0) {
    // One element: the same as along an axis of size 1.
    normalize_axis(axis, 1, info.name);
    return kLog ? x * 0 : x * 0 + 1;
  }
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  const auto last = static_cast<std::int64_t>(x.ndim()) - 1;
  if (at == last) return SoftmaxFn<kLog>::apply(x);
  return swapaxes(SoftmaxFn<kLog>::apply(swapaxes(x, at, last)), at, last);
}

}  // namespace

void register_softmax_launcher(DeviceType type, SoftmaxLauncher launcher) {
  launchers[static_cast<std::size_t>(type)] = launcher;
}

Tensor Softmax::call(const Tensor& x, std::int64_t axis) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Softmax>(x, axis);
  return along_axis<false>(x, axis, info);
}
Tensor LogSoftmax::call(const Tensor& x, std::int64_t axis) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<LogSoftmax>(x, axis);
  return along_axis<true>(x, axis, info);
}

}  // namespace lamella
