#include "ops/nn/ctc.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/modes.h"
#include "ops/cpu/tables/ctc.h"
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
#include "ops/nn/ctc_sequences.h"
#include "ops/nn/reduction.h"
#include "ops/nn/softmax.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/alias.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {

void raise_label_error(const char* op, const LateNumbers& numbers, const char* hint) {
  fail<IndexError>("[", op, "] targets must be among the ", numbers[1], " classes, got ", numbers[0], hint);
}

namespace {

constexpr const char* kName = "ctc_loss";
constexpr double kNever = cpu::kCtcNever;

/// Returns lengths as an int64 vector on their device.
Tensor as_lengths(const Tensor& lengths, std::int64_t count, const char* which) {
  if (!is_integral(lengths.dtype())) fail<TypeError>("[ctc_loss] ", which, " must be integers, got ", lengths.dtype());
  if (lengths.numel() != count || lengths.ndim() > 1)
    fail<ValueError>("[ctc_loss] ", which, " must hold one length for each of ", count, " sequences, got the shape ",
                     lengths.shape());
  return reshape(cast(lengths, DType::Int64), Dims{1, count});
}

/// The numbers of steps and of labels of all sequences, [2, sequences], copied, because the caller may change theirs.
struct Lengths {
  Tensor there;  ///< where the sequences are
  Tensor host;   ///< on the CPU, because the shapes of the computation depend on them

  Lengths(const Tensor& steps, const Tensor& labels, Device device) {
    if (steps.device() == device && labels.device() == device) {
      there = concat({steps, labels}, 0);
      host = contiguous(to_device(there, kCPU));
    } else {
      host = concat({to_device(steps, kCPU), to_device(labels, kCPU)}, 0);
      there = to_device(host, device);
    }
  }
};

std::span<const std::int64_t> numbers_of_steps(const Tensor& lengths) {
  return {lengths.data<std::int64_t>(), static_cast<std::size_t>(lengths.size(1))};
}
std::span<const std::int64_t> numbers_of_labels(const Tensor& lengths) {
  return {lengths.data<std::int64_t>() + lengths.size(1), static_cast<std::size_t>(lengths.size(1))};
}

std::int64_t longest_of(std::span<const std::int64_t> lengths) {
  return lengths.empty() ? 0 : std::ranges::max(lengths);
}

/// Throws ValueError unless the targets are of the shape [sequences, at least the longest], or hold all labels one
/// after the other.
void check_targets(const Tensor& targets, std::span<const std::int64_t> lengths, bool one_sequence) {
  std::int64_t together = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0) fail<ValueError>("[ctc_loss] target_lengths cannot be negative, got ", length);
    together += length;
  }
  const bool in_rows = targets.ndim() == 2 && !one_sequence;
  if (in_rows ? targets.size(0) != std::ssize(lengths) || targets.size(1) < longest_of(lengths)
              : targets.ndim() != 1 || targets.numel() < together)
    fail<ValueError>("[ctc_loss] targets must be [sequences, longest] or hold all ", together,
                     " labels one after the other, got the shape ", targets.shape());
}

/// Returns the sequences of labels on the CPU, padded with blanks: [sequences, longest]. The targets are int64.
Tensor padded_targets(const Tensor& targets, std::span<const std::int64_t> lengths, std::int64_t classes,
                      std::int64_t blank) {
  const auto count = std::ssize(lengths);
  const std::int64_t longest = longest_of(lengths);
  const Tensor labels = contiguous(to_device(targets, kCPU));
  const Tensor padded = full({count, longest}, blank, DType::Int64, kCPU);
  const auto* from = labels.data<std::int64_t>();
  auto* to = padded.data<std::int64_t>();
  for (std::int64_t i = 0, at = 0; i < count; at += lengths[i], ++i) {
    const auto* const label = labels.ndim() == 2 ? from + i * labels.size(1) : from + at;
    for (std::int64_t k = 0; k < lengths[i]; ++k) {
      if (label[k] < 0 || label[k] >= classes) raise_label_error(kName, {label[k], classes}, "");
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

/// Returns the losses of all sequences, composed of operators. log_p is [steps, sequences, classes]; the targets and
/// the lengths are on the CPU.
Tensor composed(const Tensor& log_p, const Tensor& targets, const Tensor& lengths, std::int64_t blank) {
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
    const std::int64_t end = 2 * numbers_of_labels(lengths)[i];
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
  const Tensor steps_of = to_device(reshape(narrow(lengths, 0, 0, 1), Dims{count, 1}), device);
  const Tensor at_start = reshape(arange(0, Scalar(width), 1, DType::Int64, device) < 2, Dims{1, width});
  // Before the first step only the first blank and the first label are reached; without steps only an empty target is.
  Tensor alpha = where(at_start, steps > 0 ? step(0) : full({count, width}, kNever, log_p.dtype(), device), kNever);
  for (std::int64_t t = 1; t < steps; ++t) {
    const Tensor next = log_sum(alpha, moved(alpha, 1), where(skips, moved(alpha, 2), kNever)) + step(t);
    alpha = where(steps_of > t, next, alpha);
  }
  const Tensor ends = where(to_device(is_end, device), alpha, kNever);
  const Tensor top = max(ends, 1, true).detach();
  const Tensor total = reshape(top, Dims{count}) + log(sum(exp(ends - top), 1));
  const Tensor none = reshape(steps_of == 0, Dims{count});
  const Tensor empty_target = to_device(reshape(narrow(lengths, 0, 1, 1), Dims{count}) == 0, device);
  const Tensor certain = where(empty_target, 0.0, kNever);
  return -where(none, certain, total);
}

/// Numbers that the kernels get beside tensors.
struct Setting {
  std::int64_t longest = 0;
  std::int64_t blank = 0;
};

/// CTC loss by kernels. A gradient that is itself recorded is computed by the composition.
struct CtcFn : OperatorLayer<CtcFn> {
  static constexpr std::string_view name = kName;

  static bool applies(const Tensor& log_p, const Tensor& labels, const Tensor& lengths) {
    const Tensor operands[] = {log_p};
    return has_device_kernel<&DeviceKernels::ctc>(log_p.device()) && !is_batched(labels) && !is_batched(lengths) &&
           (log_p.dtype() == DType::Float32 || log_p.dtype() == DType::Float64) && log_p.numel() > 0 &&
           !is_batched(log_p) && !autograd::any_dual(operands);
  }

  static Tensor forward(Context& ctx, const Tensor& log_p, const Tensor& labels, const Tensor& lengths,
                        const Setting& setting) {
    const Tensor losses = empty({log_p.size(1)}, log_p.dtype(), log_p.device());
    const auto kernel = device_kernel<&DeviceKernels::ctc>(log_p.device(), kName);
    const Tensor kept = kernel(sequences_of(log_p, labels, lengths, setting), losses, ctx.recording());
    save_with<Setting>(ctx, setting, log_p, labels, lengths, kept, losses);
    return losses;
  }

  static std::array<Tensor, 3> backward(Context& ctx, const Tensor& dy) {
    const auto [log_p, labels, lengths, kept, losses] = ctx.saved_tensors<5>();
    const Setting& setting = ctx.state<Setting>();
    const Tensor operands[] = {log_p, dy};
    if (autograd::is_grad_enabled() || autograd::any_dual(operands) || is_batched(log_p) || is_batched(dy))
      return {composed_grad(dy, log_p, labels, lengths, setting.blank)};
    const auto kernel = device_kernel<&DeviceKernels::ctc_gradient>(log_p.device(), kName);
    return {kernel(sequences_of(log_p, labels, lengths, setting), kept, losses, contiguous(dy))};
  }

 private:
  static CtcSequences sequences_of(const Tensor& log_p, const Tensor& labels, const Tensor& lengths,
                                   const Setting& setting) {
    return {contiguous(log_p), labels, lengths, setting.longest, setting.blank};
  }

  /// Differentiates the composition, which has derivatives of every order.
  static Tensor composed_grad(const Tensor& dy, const Tensor& log_p, const Tensor& labels, const Tensor& lengths,
                              std::int64_t blank) {
    autograd::GradOptions options;
    options.create_graph = autograd::is_grad_enabled();
    options.materialize_grads = true;
    const Tensor host = contiguous(to_device(lengths, kCPU));
    const Tensor targets = padded_targets(labels, numbers_of_labels(host), log_p.size(2), blank);
    Tensor x;
    Tensor y;
    {
      const autograd::GradMode mode(true);
      x = wanted_alias(log_p);
      y = composed(x, targets, host, blank);
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
  const Lengths lengths(as_lengths(input_lengths, count, "input_lengths"),
                        as_lengths(target_lengths, count, "target_lengths"), log_probs.device());
  for (const std::int64_t length : numbers_of_steps(lengths.host)) {
    if (length < 0 || length > steps)
      fail<ValueError>("[ctc_loss] input_lengths must lie in [0, ", steps, "], the number of steps; got ", length);
  }
  const std::span<const std::int64_t> label_counts = numbers_of_labels(lengths.host);
  check_targets(targets, label_counts, one);
  Tensor labels = as_index(targets, kName);
  const Tensor log_p = reshape(log_softmax(as_floating(log_probs, kName)), Dims{steps, count, classes});
  const bool by_kernels = CtcFn::applies(log_p, labels, lengths.host);
  const bool there = by_kernels && !log_p.device().is_cpu();
  labels = there ? contiguous(labels) : padded_targets(labels, label_counts, classes, blank);
  Tensor losses = by_kernels ? CtcFn::apply(log_p, labels, lengths.there, Setting{longest_of(label_counts), blank})
                             : composed(log_p, labels, lengths.host, blank);
  losses = where(losses > cpu::kCtcImpossible, zero_infinity ? 0.0 : std::numeric_limits<double>::infinity(), losses);
  if (reduction == "mean")
    losses = losses / cast(maximum(reshape(narrow(lengths.there, 0, 1, 1), Dims{count}), 1), losses.dtype());
  return reduce_loss(one ? reshape(losses, Dims{}) : losses, reduction, kName);
}

}  // namespace lamella
