#include "ops/nn/cross_entropy_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/nn/softmax.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"
#include "ops/support/caches.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr std::int64_t kGrain = 8192;  // elements per task
constexpr std::string_view kName = "cross_entropy";

template <class F>
void with_kernels(DType dtype, F&& f) {
  const cpu::CrossEntropyTable& table = cpu_kernels().cross_entropy;
  if (dtype == DType::Float32) {
    f(table.float32, float());
  } else {
    f(table.float64, double());
  }
}

/// Calls f(first row, number of rows) for parts of a matrix.
template <class F>
void for_each_rows(const Tensor& x, F&& f) {
  const HostRelease release(x.numel());
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, x.shape()[1]));
  parallel_for(0, x.shape()[0], grain, [&](std::int64_t begin, std::int64_t end) { f(begin, end - begin); });
}

std::pair<Tensor, Tensor> on_cpu(const Tensor& x, const Tensor& numbers, double smoothing) {
  const std::int64_t width = x.shape()[1];
  std::pair<Tensor, Tensor> made{empty({x.shape()[0]}, x.dtype()), empty({x.shape()[0], 2}, x.dtype())};
  with_kernels(x.dtype(), [&]<class T>(const cpu::CrossEntropyKernels<T>& kernels, T) {
    for_each_rows(x, [&](std::int64_t row, std::int64_t rows) {
      kernels.forward(x.data<T>() + row * width, numbers.data<std::int64_t>() + row, made.first.data<T>() + row,
                      made.second.data<T>() + 2 * row, rows, width, static_cast<T>(smoothing));
    });
  });
  return made;
}

Tensor gradient_on_cpu(const Tensor& x, const Tensor& numbers, double smoothing, const Tensor& powers,
                       const Tensor& dterms) {
  const std::int64_t width = x.shape()[1];
  Tensor dx = empty_like(x);
  const bool past_caches = outgrow_caches(x.nbytes() + dx.nbytes());
  with_kernels(x.dtype(), [&]<class T>(const cpu::CrossEntropyKernels<T>& kernels, T) {
    for_each_rows(x, [&](std::int64_t row, std::int64_t rows) {
      kernels.backward(x.data<T>() + row * width, numbers.data<std::int64_t>() + row, powers.data<T>() + 2 * row,
                       dterms.data<T>() + row, dx.data<T>() + row * width, rows, width, static_cast<T>(smoothing),
                       past_caches);
    });
  });
  return dx;
}

struct TermsAndGradient {
  Tensor terms, powers, dx;
};

/// Computes terms and the gradient for the same gradient `dterm` of all of them.
TermsAndGradient with_gradient_on_cpu(const Tensor& x, const Tensor& numbers, double smoothing, double dterm) {
  const std::int64_t count = x.shape()[0], width = x.shape()[1];
  TermsAndGradient made{empty({count}, x.dtype()), empty({count, 2}, x.dtype()), empty_like(x)};
  const bool past_caches = outgrow_caches(x.nbytes() + made.dx.nbytes());
  with_kernels(x.dtype(), [&]<class T>(const cpu::CrossEntropyKernels<T>& kernels, T) {
    for_each_rows(x, [&](std::int64_t row, std::int64_t rows) {
      std::vector<T> scratch(static_cast<std::size_t>(past_caches ? width : 0));
      kernels.at_once(x.data<T>() + row * width, numbers.data<std::int64_t>() + row, static_cast<T>(dterm),
                      made.terms.data<T>() + row, made.powers.data<T>() + 2 * row, made.dx.data<T>() + row * width,
                      scratch.data(), rows, width, static_cast<T>(smoothing), past_caches);
    });
  });
  return made;
}

[[maybe_unused]] const bool kRegistered =
    register_kernel<&DeviceKernels::cross_entropy>(DeviceType::CPU, on_cpu) &&
    register_kernel<&DeviceKernels::cross_entropy_gradient>(DeviceType::CPU, gradient_on_cpu);

/// Cross-entropy of rows as formulas that have derivatives of any order.
struct Formula {
  const Tensor& x;
  const Tensor& numbers;
  double smoothing;

  Tensor counted() const { return expand_dims(numbers, -1) >= 0; }
  /// Returns the derivative of each term by the elements of its row, softmax(x) - share; zeros for rows that do not
  /// count, whatever they hold.
  Tensor slopes() const {
    const Tensor rows = counted();
    const std::int64_t classes = x.shape()[1];
    const Tensor each = arange(0, Scalar(classes), 1, DType::Int64, x.device());
    const double even = smoothing / static_cast<double>(std::max<std::int64_t>(1, classes));
    const Tensor share = cast(each == expand_dims(numbers, -1), x.dtype()) * (1 - smoothing) + even;
    return where(rows, softmax(where(rows, x, 0), -1) - share, 0);
  }
};

/// Returns the gradient of the rows from that of their terms.
Tensor gradient_of_rows(const Tensor& x, const Tensor& numbers, double smoothing, const Tensor& powers,
                        const Tensor& dterms) {
  const Tensor operands[] = {x, dterms};
  if (autograd::is_grad_enabled() || autograd::any_dual(operands) || is_batched(x) || is_batched(dterms)) {
    const Formula formula{x, numbers, smoothing};
    // The gradients of terms that do not count may be inf: where none counts, the mean divides by 0.
    return where(formula.counted(), expand_dims(dterms, -1), 0) * formula.slopes();
  }
  const auto kernel = device_kernel<&DeviceKernels::cross_entropy_gradient>(x.device(), kName);
  return kernel(contiguous(x), numbers, smoothing, powers, contiguous(dterms));
}

struct CrossEntropyRows : OperatorLayer<CrossEntropyRows> {
  static constexpr std::string_view name = kName;

  static Tensor forward(Context& ctx, const Tensor& given, const Tensor& numbers, double smoothing) {
    const Tensor x = contiguous(given);
    const auto kernel = device_kernel<&DeviceKernels::cross_entropy>(x.device(), name);
    auto [terms, powers] = kernel(x, numbers, smoothing);
    save_with<double>(ctx, smoothing, given, numbers, powers);
    return terms;
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dterms) {
    const auto [x, numbers, powers] = ctx.saved_tensors<3>();
    return {gradient_of_rows(x, numbers, ctx.state<double>(), powers, dterms), Tensor()};
  }
  static Tensor jvp(Context& ctx, const Tensor& dx, const Tensor&) {
    const auto [x, numbers, powers] = ctx.saved_tensors<3>();
    const Formula formula{x, numbers, ctx.state<double>()};
    return sum(where(formula.counted(), dx, 0) * formula.slopes(), -1);
  }
};

/// The reduced terms, with the gradient for a seed computed beside them.
struct CrossEntropyAtOnce : OperatorLayer<CrossEntropyAtOnce> {
  static constexpr std::string_view name = kName;

  struct State {
    double smoothing = 0;
    TermsReduction reduction;
    double seed = 0;
    Tensor dx;
  };

  static Tensor forward(Context& ctx, const Tensor& given, const Tensor& numbers, double smoothing,
                        const TermsReduction& reduction, double seed) {
    auto [terms, powers, dx] = with_gradient_on_cpu(contiguous(given), numbers, smoothing, seed / reduction.divisor);
    save_with<State>(ctx, State{smoothing, reduction, seed, dx}, given, numbers, powers);
    return reduction.of(terms);
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [x, numbers, powers] = ctx.saved_tensors<3>();
    State& state = ctx.state<State>();
    // It is given away once, as backward may write to what it owns alone.
    const Tensor dx = std::exchange(state.dx, Tensor());
    const Tensor operands[] = {x, dy};
    const bool plain = !autograd::is_grad_enabled() && !autograd::any_dual(operands) && !is_batched(dy);
    if (dx.defined() && plain && value_of(dy) == state.seed) return {dx, Tensor()};
    return {gradient_of_rows(x, numbers, state.smoothing, powers,
                             broadcast_to(dy / state.reduction.divisor, numbers.shape())),
            Tensor()};
  }

 private:
  static double value_of(const Tensor& number) {
    return number.dtype() == DType::Float32 ? static_cast<double>(*number.data<float>()) : *number.data<double>();
  }
};

}  // namespace

bool takes_cross_entropy_rows(const Tensor& x) {
  return kTaken.contains(x.dtype()) && has_device_kernel<&DeviceKernels::cross_entropy>(x.device());
}

Tensor cross_entropy_rows(const Tensor& x, const Tensor& numbers, double smoothing) {
  return CrossEntropyRows::apply(x, numbers, smoothing);
}

Tensor TermsReduction::of(const Tensor& terms) const {
  if (mean) return lamella::mean(terms);
  return divisor == 1 ? sum(terms) : sum(terms) / divisor;
}

Tensor cross_entropy_with_gradient(const Tensor& x, const Tensor& numbers, double smoothing,
                                   const TermsReduction& reduction, double seed) {
  return CrossEntropyAtOnce::apply(x, numbers, smoothing, reduction, seed);
}

}  // namespace lamella
