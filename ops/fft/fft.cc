#include "ops/fft/fft.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/extension/extension.h"
#include "ops/fft/device_call.h"
#include "ops/fft/plan.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using cpu::FftKind;

constexpr std::int64_t kGrain = 16384;      // numbers that one thread takes at a time
constexpr std::int64_t kGroup = 16;         // lines that a kernel may process together
constexpr std::int64_t kImage = 1 << 16;    // numbers that fit into the cache of one core
constexpr std::int64_t kImages = 8;         // so many images are shared by threads one by one
constexpr std::int64_t kLongest = 1 << 30;  // longest transform; its tables take a few times as much memory

/// A transform along one axis, and complex ones along other axes: after it, or before it if it makes real numbers.
struct Form {
  FftKind kind = FftKind::ComplexToComplex;
  std::int64_t axis = 0;    ///< counted from the end, which hidden axes do not change
  Dims others = {};         ///< the other axes, counted from the end
  std::int64_t length = 0;  ///< length on the real side, if there is one
  double scale = 1;
  bool forward = true;
  bool doubled = false;
};

DType other_side(DType dtype, FftKind kind) {
  if (kind == FftKind::ComplexToComplex) return dtype;
  if (kind == FftKind::RealToComplex) return dtype == DType::Float32 ? DType::Complex64 : DType::Complex128;
  return dtype == DType::Complex64 ? DType::Float32 : DType::Float64;
}

template <class T>
void run_lines(const cpu::FftLines<T>& all, std::int64_t count) {
  const auto kernel = fft::kernels<T>().lines;
  const std::int64_t lines = (kGrain + all.length - 1) / all.length;
  parallel_for(0, count, (lines + kGroup - 1) / kGroup * kGroup, [&](std::int64_t begin, std::int64_t end) {
    cpu::FftLines<T> part = all;
    part.count = count;
    part.begin = begin;
    part.end = end;
    kernel(part);
  });
}

/// Transforms contiguous complex lines, each in two parts.
template <class T>
void transform_long_lines(const Form& form, const fft::LongPlan<T>& plan, const T* from, T* to, std::int64_t count) {
  const Tensor between = empty({2 * form.length}, dtype_of<T>);
  for (std::int64_t i = 0; i < count; ++i, from += 2 * form.length, to += 2 * form.length) {
    const cpu::FftLines<T> columns{.plan = plan.of_columns.get(),
                                   .forward = form.forward,
                                   .length = plan.rows,
                                   .inner = plan.columns,
                                   .turns = &plan.turns,
                                   .from = from,
                                   .to = between.data<T>()};
    run_lines(columns, plan.columns);
    const cpu::FftLines<T> rows{.plan = plan.of_rows.get(),
                                .forward = form.forward,
                                .length = plan.columns,
                                .to_inner = plan.rows,
                                .from = between.data<T>(),
                                .to = to,
                                .scale = static_cast<T>(form.scale)};
    run_lines(rows, plan.rows);
  }
}

/// Returns the description of the lines along an axis, counted from the front.
template <class T>
cpu::FftLines<T> lines_of(const Form& form, const fft::PlanOf<T>& plan, std::size_t axis, const Dims& shape,
                          const T* from, T* to) {
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  return {.plan = plan.get(),
          .kind = form.kind,
          .forward = form.forward,
          .doubled = form.doubled,
          .length = form.length,
          .inner = inner,
          .from = from,
          .to = to,
          .scale = static_cast<T>(form.scale)};
}
template <class T>
fft::PlanOf<T> plan_of(const Form& form) {
  const bool halved = form.kind != FftKind::ComplexToComplex && form.length % 2 == 0;
  return fft::plan_of<T>(halved ? form.length / 2 : form.length);
}

std::int64_t product(const Dims& shape, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= shape[i];
  return result;
}
std::size_t from_front(const Dims& shape, std::int64_t axis) {
  return static_cast<std::size_t>(static_cast<std::int64_t>(shape.size()) + axis);
}

/// Transforms along one axis. Both shapes are equal except for the axis; from and to may be the same for a complex
/// transform.
template <class T>
void transform_lines(const Form& form, const Dims& shape, const T* from, T* to) {
  const std::size_t axis = from_front(shape, form.axis);
  if (form.kind == FftKind::ComplexToComplex && axis + 1 == shape.size() && from != to) {
    if (const auto plan = fft::long_plan_of<T>(form.length)) {
      transform_long_lines(form, *plan, from, to, product(shape, 0, axis));
      return;
    }
  }
  const fft::PlanOf<T> plan = plan_of<T>(form);
  const cpu::FftLines<T> all = lines_of(form, plan, axis, shape, from, to);
  run_lines(all, product(shape, 0, axis) * all.inner);
}

/// Returns the complex transform along another axis of the first one's output.
Form along(const Form& form, const Dims& shape, std::int64_t axis) {
  return {.axis = axis, .length = shape[from_front(shape, axis)], .forward = form.forward};
}

/// Performs the first transform and those along the axes behind `front`, one image at a time, each of which stays in
/// the cache.
template <class T>
void transform_images(const Form& form, std::size_t count, std::size_t front, const Dims& from_shape, const T* from,
                      const Dims& to_shape, T* to) {
  using Kernel = void (*)(const cpu::FftLines<T>&);
  const Kernel kernel = fft::kernels<T>().lines;
  struct Step {
    fft::PlanOf<T> plan;
    cpu::FftLines<T> lines;
  };
  std::vector<Step> steps;
  const auto add = [&](const Form& step, const T* source) {
    const fft::PlanOf<T> plan = plan_of<T>(step);
    const std::size_t axis = from_front(to_shape, step.axis);
    cpu::FftLines<T> lines = lines_of(step, plan, axis, to_shape, source, to);
    lines.count = lines.end = product(to_shape, front, axis) * lines.inner;
    steps.push_back({plan, lines});
  };
  add(form, from);
  for (std::size_t i = 0; i < count; ++i) add(along(form, to_shape, form.others[i]), to);
  const std::int64_t numbers = product(to_shape, front, to_shape.size());
  const std::int64_t to_step = 2 * numbers;
  const std::int64_t from_step =
      product(from_shape, front, from_shape.size()) * (form.kind == FftKind::RealToComplex ? 1 : 2);
  parallel_for(0, product(to_shape, 0, front), (kGrain + numbers - 1) / numbers,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   for (const Step& step : steps) {
                     cpu::FftLines<T> lines = step.lines;
                     lines.from += i * (&step == steps.data() ? from_step : to_step);
                     lines.to += i * to_step;
                     kernel(lines);
                   }
                 }
               });
}

/// Performs all transforms. The output is complex if there are other axes, which are in descending order.
template <class T>
void transform(const Form& form, const Tensor& x, const Tensor& y) {
  const HostRelease release(std::max(x.numel(), y.numel()));
  const Dims& shape = y.shape();
  const auto* const from = static_cast<const T*>(x.raw_data());
  auto* const to = static_cast<T*>(y.raw_data());
  std::size_t done = 0;
  std::size_t front = from_front(shape, form.axis);
  for (; done < form.others.size(); ++done) {
    const std::size_t next = std::min(front, from_front(shape, form.others[done]));
    const std::int64_t numbers = product(shape, next, shape.size());
    if (numbers > kImage || y.numel() < kImages * numbers) break;
    front = next;
  }
  if (done > 0) {
    transform_images(form, done, front, x.shape(), from, shape, to);
  } else {
    transform_lines(form, form.kind == FftKind::ComplexToReal ? shape : x.shape(), from, to);
  }
  for (; done < form.others.size(); ++done) {
    transform_lines<T>(along(form, shape, form.others[done]), shape, to, to);
  }
}

/// Performs all transforms by the kernel of a device.
void transform_there(const Form& form, const Tensor& x, const Tensor& y, const char* op) {
  const auto kernel = device_kernel<&DeviceKernels::fft>(y.device(), op);
  const auto call_of = [&](const Form& step) {
    return FftCall{.kind = step.kind,
                   .axis = from_front(y.shape(), step.axis),
                   .length = step.length,
                   .scale = step.scale,
                   .forward = step.forward,
                   .doubled = step.doubled};
  };
  kernel(call_of(form), x, y, op);
  for (const std::int64_t axis : form.others) kernel(call_of(along(form, y.shape(), axis)), y, y, op);
}

Tensor run(const Tensor& given, const Form& form, const char* op) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return run(shown, form, op); }, given);
  if (form.kind == FftKind::ComplexToReal && !form.others.empty()) {
    Form before{.axis = form.others[0], .length = given.size(form.others[0]), .forward = form.forward};
    before.others.assign(form.others.begin() + 1, form.others.end());
    Form last = form;
    last.others.clear();
    return run(run(given, before, op), last, op);
  }
  const Tensor x = contiguous(given);
  Dims shape = x.shape();
  shape[from_front(shape, form.axis)] = form.kind == FftKind::RealToComplex ? form.length / 2 + 1 : form.length;
  Tensor y = empty(shape, other_side(x.dtype(), form.kind), x.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (has_device_kernel<&DeviceKernels::fft>(y.device())) {
    transform_there(form, x, y, op);
    return y;
  }
  if (!y.device().is_cpu()) {
    return on_host(op, y.device(), [&](const Tensor& host) { return run(host, form, op); }, x);
  }
  if (x.dtype() == DType::Float32 || x.dtype() == DType::Complex64) {
    transform<float>(form, x, y);
  } else {
    transform<double>(form, x, y);
  }
  return y;
}

struct ComplexLayer : LinearOperatorLayer<ComplexLayer> {
  static constexpr std::string_view name = "fft_c2c";

  static Tensor forward(Context& ctx, const Tensor& x, const Form& form) {
    if (ctx.recording()) ctx.state<Form>() = form;
    return run(x, form, "fft_c2c");
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    Form form = ctx.state<Form>();
    form.forward = !form.forward;
    return apply(dy, form);
  }
};

/// Transforms between real and complex numbers: with dx[j] = Re sum_k w[k] conj(e[j, k]) dy[k], where the weights w, 2
/// or 1, belong to the transform, each is the other's gradient.
struct RealLayer : LinearOperatorLayer<RealLayer> {
  static constexpr const char* op_of(FftKind kind) { return kind == FftKind::RealToComplex ? "fft_r2c" : "fft_c2r"; }
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

  static Tensor forward(Context& ctx, const Tensor& x, const Form& form) {
    ctx.tag = op_of(form.kind);
    if (ctx.recording()) ctx.state<Form>() = form;
    return run(x, form, op_of(form.kind));
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    Form form = ctx.state<Form>();
    form.kind = form.kind == FftKind::RealToComplex ? FftKind::ComplexToReal : FftKind::RealToComplex;
    form.forward = !form.forward;
    return apply(dy, form);
  }
};

/// Returns the axis counted from the end.
std::int64_t read_axis(const Tensor& x, std::int64_t axis, const char* op) {
  return static_cast<std::int64_t>(normalize_axis(axis, x.ndim(), op)) - static_cast<std::int64_t>(x.ndim());
}

void check_length(const Tensor& x, std::int64_t length, std::int64_t axis, const char* op) {
  if (length >= 1 && length <= kLongest) return;
  fail<ValueError>("[", op, "] a transform of length ", length, " along axis ", axis, " (of shape ", x.shape(),
                   "): expected from 1 to ", kLongest);
}

/// Returns the axes counted from the end, the last ones first.
Dims read_axes(const Tensor& x, const Dims& axes, const char* op) {
  Dims result = normalize_axes(axes, x.ndim(), op);
  for (const std::int64_t axis : result) check_length(x, x.size(axis), axis, op);
  for (std::int64_t& axis : result) axis -= static_cast<std::int64_t>(x.ndim());
  std::sort(result.begin(), result.end(), std::greater<>());
  return result;
}

}  // namespace

Tensor FftComplexToComplex::call(const Tensor& x, const Dims& axes, double scale, bool forward) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  Dims sorted = read_axes(x, axes, info.name);
  if (sorted.empty()) return x;
  const Form form{.axis = sorted[0],
                  .others = {sorted.begin() + 1, sorted.end()},
                  .length = x.size(sorted[0]),
                  .scale = scale,
                  .forward = forward};
  return ComplexLayer::apply(x, form);
}

Tensor FftRealToComplex::call(const Tensor& x, std::int64_t axis, double scale, bool forward, bool doubled,
                              const std::optional<Dims>& others) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const Form form{.kind = FftKind::RealToComplex,
                  .axis = read_axis(x, axis, info.name),
                  .others = others ? read_axes(x, *others, info.name) : Dims(),
                  .length = x.size(axis),
                  .scale = scale,
                  .forward = forward,
                  .doubled = doubled};
  check_length(x, form.length, axis, info.name);
  for (const std::int64_t other : form.others) {
    if (other == form.axis)
      fail<ValueError>("[", info.name, "] others must not contain axis ", axis, ", the axis of the real numbers");
  }
  return RealLayer::apply(x, form);
}

Tensor FftComplexToReal::call(const Tensor& x, std::int64_t n, std::int64_t axis, double scale, bool forward,
                              bool doubled) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const Form form{.kind = FftKind::ComplexToReal,
                  .axis = read_axis(x, axis, info.name),
                  .length = n,
                  .scale = scale,
                  .forward = forward,
                  .doubled = doubled};
  check_length(x, n, axis, info.name);
  if (x.size(axis) != n / 2 + 1) {
    fail<ValueError>("[fft_c2r] x must have ", n / 2 + 1, " coefficients for ", n, " numbers, got ", x.size(axis),
                     " along axis ", axis, " (shape ", x.shape(), ")");
  }
  return RealLayer::apply(x, form);
}

}  // namespace lamella
