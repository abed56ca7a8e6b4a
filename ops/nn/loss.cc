#include "ops/nn/loss.h"

#include <limits>
#include <numbers>

#include "engine/core/modes.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/loss_terms.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/softplus.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/movement/halves.h"
#include "ops/movement/integers.h"
#include "ops/nn/reduction.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Raises an error of `op` unless all elements of a bool tensor are true, under vmap for every example; on a device
/// that works behind the host when that next waits.
void require_all(const Tensor& mask, RaiseLate raise, const char* op) {
  const autograd::NoGrad scope;
  const Tensor whole = is_batched(mask) ? physical(mask, *mask->hidden) : mask;
  if (whole.numel() == 0) return;
  if (has_device_kernel<&DeviceKernels::refuse_unless>(whole.device()))
    return device_kernel<&DeviceKernels::refuse_unless>(whole.device(), op)(contiguous(whole), raise, op);
  if (!*to_device(all(whole), kCPU).data<bool>()) raise(op, {}, "");
}

[[noreturn]] void refuse_probability(const char* op, const LateNumbers&, const char* hint) {
  fail<ValueError>("[", op, "] all elements of input must lie in [0, 1]; see also binary_cross_entropy_with_logits",
                   hint);
}

[[noreturn]] void refuse_variance(const char* op, const LateNumbers&, const char* hint) {
  fail<ValueError>("[", op, "] var cannot be negative", hint);
}

Tensor weighted(const Tensor& terms, const std::optional<Tensor>& weight) { return weight ? terms * *weight : terms; }

}  // namespace

Tensor MseLoss::call(const Tensor& input, const Tensor& target, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<MseLoss>(input, target, reduction);
  if (any_half(input, target)) [[unlikely]]
    return call_in_float32<MseLoss>(input, target, reduction);
  if (any_integer(input, target)) return call_in_floats<MseLoss>(input, target, reduction);
  check_same_shape(input, target, info.name);
  return reduce_loss(squared_difference(input, target), reduction, info.name);
}

Tensor L1Loss::call(const Tensor& input, const Tensor& target, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<L1Loss>(input, target, reduction);
  if (any_half(input, target)) [[unlikely]]
    return call_in_float32<L1Loss>(input, target, reduction);
  if (any_integer(input, target)) return call_in_floats<L1Loss>(input, target, reduction);
  check_same_shape(input, target, info.name);
  return reduce_loss(abs(input - target), reduction, info.name);
}

Tensor SmoothL1Loss::call(const Tensor& input, const Tensor& target, std::string_view reduction, double beta) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<SmoothL1Loss>(input, target, reduction, beta);
  if (any_half(input, target)) [[unlikely]]
    return call_in_float32<SmoothL1Loss>(input, target, reduction, beta);
  if (any_integer(input, target)) return call_in_floats<SmoothL1Loss>(input, target, reduction, beta);
  check_same_shape(input, target, info.name);
  if (!(beta >= 0)) fail<ValueError>("[smooth_l1_loss] beta cannot be negative, got ", beta);
  return reduce_loss(beta == 0 ? abs(input - target) : smooth_l1(input, target, beta), reduction, info.name);
}

Tensor HuberLoss::call(const Tensor& input, const Tensor& target, std::string_view reduction, double delta) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<HuberLoss>(input, target, reduction, delta);
  if (any_half(input, target)) [[unlikely]]
    return call_in_float32<HuberLoss>(input, target, reduction, delta);
  if (any_integer(input, target)) return call_in_floats<HuberLoss>(input, target, reduction, delta);
  check_same_shape(input, target, info.name);
  if (!(delta > 0)) fail<ValueError>("[huber_loss] delta must be above 0, got ", delta);
  const Tensor loss = reduce_loss(smooth_l1(input, target, delta), reduction, info.name);
  return delta == 1 ? loss : loss * delta;
}

Tensor BinaryCrossEntropy::call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                                std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<BinaryCrossEntropy>(input, target, weight, reduction);
  if (any_half(input, target, weight)) [[unlikely]]
    return call_in_float32<BinaryCrossEntropy>(input, target, weight, reduction);
  if (any_integer(input, target, weight)) return call_in_floats<BinaryCrossEntropy>(input, target, weight, reduction);
  check_same_shape(input, target, info.name);
  if (!input.device().is_meta()) require_all((input >= 0) & (input <= 1), refuse_probability, info.name);
  return reduce_loss(weighted(log_loss(input, target), weight), reduction, info.name);
}

Tensor BinaryCrossEntropyWithLogits::call(const Tensor& input, const Tensor& target,
                                          const std::optional<Tensor>& weight, std::string_view reduction,
                                          const std::optional<Tensor>& pos_weight) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<BinaryCrossEntropyWithLogits>(input, target, weight, reduction, pos_weight);
  if (any_half(input, target, weight, pos_weight)) [[unlikely]]
    return call_in_float32<BinaryCrossEntropyWithLogits>(input, target, weight, reduction, pos_weight);
  if (any_integer(input, target, weight, pos_weight))
    return call_in_floats<BinaryCrossEntropyWithLogits>(input, target, weight, reduction, pos_weight);
  check_same_shape(input, target, info.name);
  // With p = sigmoid(x): log(1 - p) = log(p) - x, so -t log(p) - (1 - t) log(1 - p) = (1 - t) x - log(p).
  const Tensor log_p = log_sigmoid(input);
  const Tensor rest = (1 - target) * input;
  const Tensor terms = pos_weight ? rest - (1 + (*pos_weight - 1) * target) * log_p : rest - log_p;
  return reduce_loss(weighted(terms, weight), reduction, info.name);
}

Tensor KlDiv::call(const Tensor& input, const Tensor& target, std::string_view reduction, bool log_target) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<KlDiv>(input, target, reduction, log_target);
  if (any_half(input, target)) [[unlikely]]
    return call_in_float32<KlDiv>(input, target, reduction, log_target);
  if (any_integer(input, target)) return call_in_floats<KlDiv>(input, target, reduction, log_target);
  check_same_shape(input, target, info.name);
  Tensor terms;
  if (log_target) {
    const Tensor none = target == -std::numeric_limits<double>::infinity();
    terms = exp(target) * (where(none, 0, target) - where(none & isinf(input), 0, input));
  } else {
    // A target of 0 contributes 0, even beside an infinite logarithm.
    const Tensor none = target == 0;
    terms = target * (log(where(none, 1, target)) - where(none & isinf(input), 0, input));
  }
  if (reduction != "batchmean") return reduce_loss(terms, reduction, info.name);
  return input.ndim() == 0 ? sum(terms) : sum(terms) / static_cast<double>(input.size(0));
}

Tensor PoissonNllLoss::call(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                            std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<PoissonNllLoss>(input, target, log_input, full, eps, reduction);
  if (any_half(input, target)) [[unlikely]]
    return call_in_float32<PoissonNllLoss>(input, target, log_input, full, eps, reduction);
  if (any_integer(input, target)) return call_in_floats<PoissonNllLoss>(input, target, log_input, full, eps, reduction);
  check_same_shape(input, target, info.name);
  Tensor terms = log_input ? exp(input) - target * input : input - target * log(input + eps);
  if (full) {
    const Tensor large = where(target > 1, target, 1);
    const Tensor stirling = large * log(large) - large + 0.5 * log(2 * std::numbers::pi * large);
    terms = terms + where(target > 1, stirling, 0);
  }
  return reduce_loss(terms, reduction, info.name);
}

Tensor GaussianNllLoss::call(const Tensor& input, const Tensor& target, const Tensor& var, bool full, double eps,
                             std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<GaussianNllLoss>(input, target, var, full, eps, reduction);
  if (any_half(input, target, var)) [[unlikely]]
    return call_in_float32<GaussianNllLoss>(input, target, var, full, eps, reduction);
  if (any_integer(input, target, var)) return call_in_floats<GaussianNllLoss>(input, target, var, full, eps, reduction);
  check_defined(input, info.name);
  check_defined(target, info.name);
  check_defined(var, info.name);
  broadcast_shapes(input.shape(), target.shape(), info.name);
  if (!(eps > 0)) fail<ValueError>("[gaussian_nll_loss] eps must be above 0, got ", eps);
  Tensor variance = var;
  if (var.shape() != input.shape()) {
    if (var.ndim() + 1 == input.ndim()) variance = expand_dims(var, -1);
    bool fits = variance.ndim() == input.ndim();
    std::size_t shared = 0;  // number of axes along which one variance is shared
    for (std::size_t i = 0; fits && i < input.ndim(); ++i) {
      if (variance.shape()[i] == input.shape()[i]) continue;
      fits = variance.shape()[i] == 1;
      ++shared;
    }
    if (!fits || shared > 1) {
      fail<ValueError>("[gaussian_nll_loss] var must have input's shape ", input.shape(),
                       ", with one axis of size 1 at most, or leave the last axis out, got ", var.shape());
    }
  }
  if (!var.device().is_meta()) require_all(var >= 0, refuse_variance, info.name);
  // The gradient passes where var is raised to eps: it is what leads it away from there.
  variance = where(variance < eps, variance + (eps - variance.detach()), variance);
  Tensor terms = 0.5 * (log(variance) + squared_difference(input, target) / variance);
  if (full) terms = terms + 0.5 * std::log(2 * std::numbers::pi);
  return reduce_loss(terms, reduction, info.name);
}

Tensor SoftMarginLoss::call(const Tensor& input, const Tensor& target, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<SoftMarginLoss>(input, target, reduction);
  if (any_half(input, target)) [[unlikely]]
    return call_in_float32<SoftMarginLoss>(input, target, reduction);
  if (any_integer(input, target)) return call_in_floats<SoftMarginLoss>(input, target, reduction);
  check_same_shape(input, target, info.name);
  return reduce_loss(-log_sigmoid(target * input), reduction, info.name);
}

}  // namespace lamella
