#include "ops/nn/ctc.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/where.h"
#include "ops/index/picks.h"
#include "ops/index/rows.h"
#include "ops/movement/cast.h"
#include "ops/nn/reduction.h"
#include "ops/nn/softmax.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/alias.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr const char* kName = "ctc_loss";
constexpr double kNever = cpu::kCtcNever;
/// The loss of a target that fits into its steps is below this bound.
constexpr double kImpossible = -kNever / 10;

/// Returns lengths as int64 on the CPU, because the shapes of the computation depend on them.
Tensor read_lengths(const Tensor& lengths, std::int64_t count, const char* which) {
  if (!is_integral(lengths.dtype())) fail<TypeError>("[ctc_loss] ", which, " must be integers, got ", lengths.dtype());
  if (lengths.numel() != count || lengths.ndim() > 1)
    fail<ValueError>("[ctc_loss] ", which, " must hold one length for each of ", count, " sequences, got the shape ",
                     lengths.shape());
  return contiguous(to_device(reshape(cast(lengths, DType::Int64), Dims{count}), kCPU));
}

/// Returns the sequences of labels padded with blanks: [sequences, longest], int64.
Tensor padded_targets(const Tensor& targets, const Tensor& lengths, std::int64_t classes, std::int64_t blank,
                      bool one_sequence) {
  const std::int64_t count = lengths.numel();
  const auto* length = lengths.data<std::int64_t>();
  const std::int64_t longest = count ? *std::max_element(length, length + count) : 0;
  std::int64_t together = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (length[i] < 0) fail<ValueError>("[ctc_loss] target_lengths cannot be negative, got ", length[i]);
    together += length[i];
  }
  const bool in_rows = targets.ndim() == 2 && !one_sequence;
  if (in_rows ? targets.size(0) != count || targets.size(1) < longest
              : targets.ndim() != 1 || targets.numel() < together)
    fail<ValueError>("[ctc_loss] targets must be [sequences, longest] or hold all ", together,
                     " labels one after the other, got the shape ", targets.shape());
  const Tensor labels = contiguous(to_device(as_index(targets, kName), kCPU));
  const Tensor padded = full({count, longest}, blank, DType::Int64, kCPU);
  const auto* from = labels.data<std::int64_t>();
  auto* to = padded.data<std::int64_t>();
  for (std::int64_t i = 0, at = 0; i < count; at += length[i], ++i) {
    const auto* const label = in_rows ? from + i * targets.size(1) : from + at;
    for (std::int64_t k = 0; k < length[i]; ++k) {
      if (label[k] < 0 || label[k] >= classes)
        fail<IndexError>("[ctc_loss] targets must be among the ", classes, " classes, got ", label[k]);
      to[i * longest + k] = label[k];
    }
  }
  return padded;
}

/// Returns log(exp(a) + exp(b) + exp(c)) for finite numbers.
Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor top = maximum(maximum(a, b), c).detach();
  return top + log(exp(a - top) + exp(b - top) + exp(c - top));
}

/// Shifts the columns of alpha to the right; the first ones become impossible.
Tensor moved(const Tensor& alpha, std::int64_t by) {
  const std::int64_t width = alpha.size(1);
  const Tensor edge = full({alpha.size(0), std::min(by, width)}, kNever, alpha.dtype(), alpha.device());
  return by >= width ? edge : concat({edge, narrow(alpha, 1, 0, width - by)}, 1);
}

/// Returns the losses of all sequences, composed of operators. log_p is [steps, sequences, classes].
Tensor composed(const Tensor& log_p, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
                std::int64_t blank) {
  const std::int64_t steps = log_p.size(0);
  const std::int64_t count = log_p.size(1);
  const std::int64_t classes = log_p.size(2);
  const std::int64_t longest = targets.size(1);
  const std::int64_t width = 2 * longest + 1;
  const Device device = log_p.device();

  // Each label has a blank before and after it. A path may go from a label directly to the next one if the two differ.
  const Tensor extended = full({count, width}, blank, DType::Int64, kCPU);
  const Tensor may_skip = full({count, width}, false, DType::Bool, kCPU);
  const Tensor is_end = full({count, width}, false, DType::Bool, kCPU);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto* label = targets.data<std::int64_t>() + i * longest;
    for (std::int64_t k = 0; k < longest; ++k) {
      extended.data<std::int64_t>()[i * width + 2 * k + 1] = label[k];
      may_skip.data<bool>()[i * width + 2 * k + 1] = k > 0 && label[k] != label[k - 1] && label[k] != blank;
    }
    const std::int64_t end = 2 * target_lengths.data<std::int64_t>()[i];
    is_end.data<bool>()[i * width + end] = true;
    if (end > 0) is_end.data<bool>()[i * width + end - 1] = true;
  }

  // emitted[t, i, s] is the log-probability of symbol s of sequence i at step t.
  const Tensor sequence = reshape(arange(0, Scalar(count), 1, DType::Int64, kCPU), Dims{count, 1}) + extended * 0;
  const Tensor chosen[] = {sequence, extended};
  const Tensor symbol = pick_rows(chosen, Dims{count, classes}, Dims{1, 2}, kName, NegativeIndex::Refuse);
  const Tensor first = reshape(arange(0, Scalar(steps), 1, DType::Int64, kCPU), Dims{steps, 1}) * (count * classes);
  const Tensor rows = to_device(contiguous(reshape(first + symbol, Dims{steps * count * width})), device);
  const Tensor emitted =
      clip(reshape(gather_rows(reshape(log_p, Dims{steps * count * classes, 1}), rows), Dims{steps, count, width}),
           Operand(kNever), std::nullopt);

  const auto step = [&](std::int64_t t) { return reshape(narrow(emitted, 0, t, 1), Dims{count, width}); };
  const Tensor skips = to_device(may_skip, device);
  const Tensor lengths = to_device(reshape(input_lengths, Dims{count, 1}), device);
  const Tensor at_start = reshape(arange(0, Scalar(width), 1, DType::Int64, device) < 2, Dims{1, width});
  // Before the first step only the first blank and the first label are reached; without steps only an empty target is.
  Tensor alpha = where(at_start, steps > 0 ? step(0) : full({count, width}, kNever, log_p.dtype(), device), kNever);
  for (std::int64_t t = 1; t < steps; ++t) {
    const Tensor next = log_sum(alpha, moved(alpha, 1), where(skips, moved(alpha, 2), kNever)) + step(t);
    alpha = where(lengths > t, next, alpha);
  }
  const Tensor ends = where(to_device(is_end, device), alpha, kNever);
  const Tensor top = max(ends, 1, true).detach();
  const Tensor total = reshape(top, Dims{count}) + log(sum(exp(ends - top), 1));
  const Tensor none = reshape(lengths == 0, Dims{count});
  const Tensor empty_target = to_device(target_lengths == 0, device);
  const Tensor certain = where(empty_target, 0.0, kNever);
  return -where(none, certain, total);
}

/// CTC loss by kernels, one sequence per task. A gradient that is itself recorded is computed by the composition.
struct CtcFn : OperatorLayer<CtcFn> {
  static constexpr std::string_view name = kName;

  static bool applies(const Tensor& log_p, const Tensor& input_lengths, const Tensor& target_lengths) {
    const Tensor operands[] = {log_p};
    return !is_batched(input_lengths) && !is_batched(target_lengths) && log_p.device().is_cpu() &&
           (log_p.dtype() == DType::Float32 || log_p.dtype() == DType::Float64) && log_p.numel() > 0 &&
           !is_batched(log_p) && !autograd::any_dual(operands);
  }

  static Tensor forward(Context& ctx, const Tensor& log_p, const Tensor& targets, const Tensor& input_lengths,
                        const Tensor& target_lengths, std::int64_t blank) {
    const Tensor values = contiguous(log_p);
    const std::int64_t rows = ctx.recording() ? log_p.size(0) : std::min<std::int64_t>(2, log_p.size(0));
    const Tensor alpha = empty({log_p.size(1), rows, cpu::ctc_row(targets.size(1))}, log_p.dtype());
    const Tensor losses = empty({log_p.size(1)}, log_p.dtype());
    for_each_sequence(values, alpha, targets, input_lengths, target_lengths, blank,
                      [&]<class T>(const cpu::CtcKernels<T>& kernels, const cpu::CtcArgs<T>& args, std::int64_t i) {
                        const T none = args.labels == 0 ? T(0) : T(-kNever);
                        losses.data<T>()[i] = args.steps == 0 ? none : kernels.forward(args);
                      });
    save_with<std::int64_t>(ctx, blank, log_p, targets, input_lengths, target_lengths, alpha, losses);
    return losses;
  }

  static std::array<Tensor, 4> backward(Context& ctx, const Tensor& dy) {
    const auto [log_p, targets, input_lengths, target_lengths, alpha, totals] = ctx.saved_tensors<6>();
    const Tensor& losses = totals;
    const std::int64_t blank = ctx.state<std::int64_t>();
    const Tensor operands[] = {log_p, dy};
    if (autograd::is_grad_enabled() || autograd::any_dual(operands) || is_batched(log_p) || is_batched(dy))
      return {composed_grad(dy, log_p, targets, input_lengths, target_lengths, blank)};
    const Tensor values = contiguous(log_p);
    const Tensor scales = contiguous(dy);
    const Tensor dx = empty(values.shape(), values.dtype());
    for_each_sequence(values, alpha, targets, input_lengths, target_lengths, blank,
                      [&]<class T>(const cpu::CtcKernels<T>& kernels, const cpu::CtcArgs<T>& args, std::int64_t i) {
                        T* const rows = dx.data<T>() + i * args.classes;
                        const T loss = losses.data<T>()[i];
                        const bool none = args.steps == 0 || loss > T(kImpossible);
                        for (std::int64_t t = none ? 0 : args.steps; t < values.size(0); ++t)
                          std::fill_n(rows + t * args.stride, args.classes, T(0));
                        if (!none) kernels.backward(args, loss, scales.data<T>()[i], rows);
                      });
    return {dx};
  }

 private:
  /// Calls run(kernels, args, number) for each sequence, several threads at once.
  template <class Run>
  static void for_each_sequence(const Tensor& log_p, const Tensor& alpha, const Tensor& targets,
                                const Tensor& input_lengths, const Tensor& target_lengths, std::int64_t blank,
                                const Run& run) {
    const std::int64_t count = log_p.size(1);
    const std::int64_t longest = targets.size(1);
    constexpr std::int64_t kStateWork = 16;  // work of a state's step, relative to an element of a simple loop
    const std::int64_t work = log_p.size(0) * (log_p.size(2) + (2 * longest + 1) * kStateWork);
    const HostRelease release(count * work);
    const auto with = [&]<class T>(const cpu::CtcKernels<T>& kernels, T) {
      parallel_for(0, count, even_grain(count, work), [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> scratch(static_cast<std::size_t>(cpu::ctc_scratch(longest)));
        for (std::int64_t i = begin; i < end; ++i) {
          cpu::CtcArgs<T> args;
          args.log_p = log_p.data<T>() + i * log_p.size(2);
          args.stride = count * log_p.size(2);
          args.steps = input_lengths.data<std::int64_t>()[i];
          args.classes = log_p.size(2);
          args.targets = targets.data<std::int64_t>() + i * longest;
          args.labels = target_lengths.data<std::int64_t>()[i];
          args.blank = blank;
          args.alpha = alpha.data<T>() + i * alpha.size(1) * alpha.size(2);
          args.rows = alpha.size(1);
          args.scratch = scratch.data();
          run(kernels, args, i);
        }
      });
    };
    const cpu::CtcTable& table = cpu_kernels().ctc;
    log_p.dtype() == DType::Float32 ? with(table.float32, float()) : with(table.float64, double());
  }

  /// Differentiates the composition, which has derivatives of every order.
  static Tensor composed_grad(const Tensor& dy, const Tensor& log_p, const Tensor& targets, const Tensor& input_lengths,
                              const Tensor& target_lengths, std::int64_t blank) {
    autograd::GradOptions options;
    options.create_graph = autograd::is_grad_enabled();
    options.materialize_grads = true;
    Tensor x;
    Tensor y;
    {
      const autograd::GradMode mode(true);
      x = own_alias(log_p);
      y = composed(x, targets, input_lengths, target_lengths, blank);
    }
    const Tensor outputs[] = {y};
    const Tensor inputs[] = {x};
    const Tensor grad_outputs[] = {dy};
    return autograd::grad(outputs, inputs, grad_outputs, options)[0];
  }
};

}  // namespace

Tensor CtcLoss::call(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                     const Tensor& target_lengths, std::int64_t blank, std::string_view reduction, bool zero_infinity) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<CtcLoss>(log_probs, targets, input_lengths, target_lengths, blank, reduction,
                                     zero_infinity);
  check_reduction(reduction, kName);
  check_defined(log_probs, kName);
  if (is_half(log_probs.dtype())) {
    // Logarithms of impossible paths are beyond the range of float16.
    return cast(
        call(cast(log_probs, DType::Float32), targets, input_lengths, target_lengths, blank, reduction, zero_infinity),
        log_probs.dtype());
  }
  check_defined(targets, kName);
  check_same_device(log_probs, targets, kName);
  if (log_probs.ndim() != 2 && log_probs.ndim() != 3) {
    fail<ValueError>("[ctc_loss] log_probs must be [steps, sequences, classes] or [steps, classes], got ",
                     log_probs.shape());
  }
  const bool one = log_probs.ndim() == 2;
  const std::int64_t steps = log_probs.size(0);
  const std::int64_t count = one ? 1 : log_probs.size(1);
  const std::int64_t classes = log_probs.size(-1);
  if (blank < 0 || blank >= classes)
    fail<ValueError>("[ctc_loss] blank must be one of the ", classes, " classes, got ", blank);
  const Tensor in = read_lengths(input_lengths, count, "input_lengths");
  const Tensor out = read_lengths(target_lengths, count, "target_lengths");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t length = in.data<std::int64_t>()[i];
    if (length < 0 || length > steps)
      fail<ValueError>("[ctc_loss] input_lengths must lie in [0, ", steps, "], the number of steps; got ", length);
  }
  const Tensor padded = padded_targets(targets, out, classes, blank, one);
  const Tensor log_p = reshape(log_softmax(as_floating(log_probs, kName)), Dims{steps, count, classes});
  // Copied, because the caller may change the lengths.
  Tensor losses = CtcFn::applies(log_p, in, out) ? CtcFn::apply(log_p, padded, clone(in), clone(out), blank)
                                                 : composed(log_p, padded, in, out, blank);
  losses = where(losses > kImpossible, zero_infinity ? 0.0 : std::numeric_limits<double>::infinity(), losses);
  if (reduction == "mean") losses = losses / to_device(cast(maximum(out, 1), losses.dtype()), losses.device());
  return reduce_loss(one ? reshape(losses, Dims{}) : losses, reduction, kName);
}

}  // namespace lamella
