#include "ops/fft/fft.h"

#include "engine/autograd/function.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/cpu/loader.h"
#include "ops/extension/extension.h"
#include "ops/fft/plan.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

using cpu::FftKind;

constexpr std::int64_t kGrain = 16384;      // numbers that one thread takes at a time
constexpr std::int64_t kGroup = 16;         // lines that a kernel may take together
constexpr std::int64_t kLongest = 1 << 30;  // tables take a few times as much

/// One transform along one axis.
struct Form {
  FftKind kind = FftKind::ComplexToComplex;
  std::int64_t axis = 0;    ///< counted from the end, which hidden axes do not change
  std::int64_t length = 0;  ///< of the real side where there is one
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
  const auto kernel = [] {
    if constexpr (sizeof(T) == sizeof(float)) {
      return cpu_kernels().fft.float32.lines;
    } else {
      return cpu_kernels().fft.float64.lines;
    }
  }();
  const std::int64_t lines = (kGrain + all.length - 1) / all.length;
  parallel_for(0, count, (lines + kGroup - 1) / kGroup * kGroup, [&](std::int64_t begin, std::int64_t end) {
    cpu::FftLines<T> part = all;
    part.count = count;
    part.begin = begin;
    part.end = end;
    kernel(part);
  });
}

/// Complex lines one behind the other, each in two parts.
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

/// x is contiguous and so is y; they may be the same for a complex transform.
template <class T>
void transform_lines(const Form& form, const Tensor& x, const Tensor& y) {
  const auto axis = static_cast<std::size_t>(static_cast<std::int64_t>(x.ndim()) + form.axis);
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < x.ndim(); ++i) inner *= x.shape()[i];
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= x.shape()[i];
  const HostRelease release(outer * inner * form.length);
  const auto* const from = static_cast<const T*>(x.raw_data());
  auto* const to = static_cast<T*>(y.raw_data());
  if (form.kind == FftKind::ComplexToComplex && inner == 1) {
    if (const auto plan = fft::long_plan_of<T>(form.length)) {
      transform_long_lines(form, *plan, from, to, outer);
      return;
    }
  }
  const bool halved = form.kind != FftKind::ComplexToComplex && form.length % 2 == 0;
  const auto plan = fft::plan_of<T>(halved ? form.length / 2 : form.length);
  const cpu::FftLines<T> all{.plan = plan.get(),
                             .kind = form.kind,
                             .forward = form.forward,
                             .doubled = form.doubled,
                             .length = form.length,
                             .inner = inner,
                             .from = from,
                             .to = to,
                             .scale = static_cast<T>(form.scale)};
  run_lines(all, outer * inner);
}

Tensor run(const Tensor& given, const Form& form, const char* op) {
  if (is_batched(given)) [[unlikely]]
    return hide_in_place(run(physical(given, *given->hidden), form, op), *given->hidden);
  const Tensor x = contiguous(given);
  Dims shape = x.shape();
  shape[static_cast<std::size_t>(static_cast<std::int64_t>(x.ndim()) + form.axis)] =
      form.kind == FftKind::RealToComplex ? form.length / 2 + 1 : form.length;
  Tensor y = empty(shape, other_side(x.dtype(), form.kind), x.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (!y.device().is_cpu()) {
    return on_host(op, y.device(), [&](const Tensor& host) { return run(host, form, op); }, x);
  }
  if (x.dtype() == DType::Float32 || x.dtype() == DType::Complex64) {
    transform_lines<float>(form, x, y);
  } else {
    transform_lines<double>(form, x, y);
  }
  return y;
}

struct ComplexLayer : Function<ComplexLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
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

/// Both directions between real and complex numbers: with dx[j] = Re sum_k w[k] conj(e[j, k]) dy[k], where the weights
/// w, 2 or 1, belong to the transform, each is the other's gradient.
struct RealLayer : Function<RealLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
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

/// The axis, from the end.
std::int64_t read_axis(const Tensor& x, std::int64_t axis, const char* op) {
  return static_cast<std::int64_t>(normalize_axis(axis, x.ndim(), op)) - static_cast<std::int64_t>(x.ndim());
}

void check_length(const Tensor& x, std::int64_t length, std::int64_t axis, const char* op) {
  if (length >= 1 && length <= kLongest) return;
  fail<ValueError>("[", op, "] a transform of length ", length, " along axis ", axis, " (of shape ", x.shape(),
                   "): expected from 1 to ", kLongest);
}

}  // namespace

Tensor FftComplexToComplex::call(const Tensor& x, const Dims& axes, double scale, bool forward) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  normalize_axes(axes, x.ndim(), info.name);
  for (const std::int64_t axis : axes) check_length(x, x.size(axis), axis, info.name);
  Tensor y = x;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Form form{.axis = read_axis(x, axes[i], info.name),
                    .length = x.size(axes[i]),
                    .scale = i == 0 ? scale : 1.0,
                    .forward = forward};
    y = ComplexLayer::apply(y, form);
  }
  return y;
}

Tensor FftRealToComplex::call(const Tensor& x, std::int64_t axis, double scale, bool forward, bool doubled) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const Form form{.kind = FftKind::RealToComplex,
                  .axis = read_axis(x, axis, info.name),
                  .length = x.size(axis),
                  .scale = scale,
                  .forward = forward,
                  .doubled = doubled};
  check_length(x, form.length, axis, info.name);
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
    fail<ValueError>("[fft_c2r] ", n, " numbers have ", n / 2 + 1, " coefficients, x has ", x.size(axis),
                     " along axis ", axis, " (shape ", x.shape(), ")");
  }
  return RealLayer::apply(x, form);
}

}  // namespace lamella
