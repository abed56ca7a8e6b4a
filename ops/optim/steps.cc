#include "ops/optim/steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/results.h"
#include "ops/elementwise/sqrt.h"
#include "ops/optim/formulas.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/strided.h"

namespace lamella::optim {
namespace {

constexpr std::int64_t kParts = 64;  // most parts that a tensor is split into
constexpr std::int64_t kLine = 16;   // elements of a cache line, which threads do not share

template <class Target>
void check_target(const Target& target, const char* op) {
  const Tensor& parameter = target.parameter;
  check_defined(parameter, op);
  check_defined(target.gradient, op);
  check_writable(parameter, op);
  check_room_for_batched(parameter, target.gradient, op);
  const auto check_beside = [&](const Tensor& x, const char* what) {
    if (x.shape() != parameter.shape()) {
      fail<ValueError>("[", op, "] ", what, " must have the parameter's shape ", parameter.shape(), ", got ",
                       x.shape());
    }
    check_same_device(parameter, x, op);
  };
  check_beside(target.gradient, "the gradient");
  for (const Tensor* x : target.state()) {
    if (!x->defined()) continue;
    check_writable(*x, op);
    check_beside(*x, "the optimizer's state");
  }
}

/// True if a kernel can run over all elements as over one contiguous row.
template <class Target>
bool is_one_row(const Target& target) {
  const Tensor& parameter = target.parameter;
  const DType dtype = parameter.dtype();
  if (parameter.device() != kCPU || !parameter->contiguous) return false;
  if (dtype != DType::Float32 && dtype != DType::Float64) return false;
  const auto fits = [&](const Tensor& x) {
    return x->contiguous && x.dtype() == dtype && (x->data == parameter->data || !may_overlap(x, parameter));
  };
  return fits(target.gradient) &&
         std::ranges::all_of(target.state(), [&](const Tensor* x) { return !x->defined() || fits(*x); });
}

/// Marks the tensors of a step as written.
template <class Target>
void finish(const Target& target, const char* op) {
  for (const Tensor* x : target.state()) {
    if (x->defined()) mark_written(*x, op);
  }
  mark_written(target.parameter, op);
  const Tensor* const inputs[] = {&target.gradient};
  note_unrecorded(op, inputs, target.parameter);
}

/// Calls body(target, first, last) for ranges that cover the elements of all targets, on several threads if there are
/// many. A thread takes the same part of every tensor: the part that it had in the forward and backward products, which
/// may still be in its cache.
template <class Target, class Body>
void over_pieces(const std::vector<const Target*>& targets, Body&& body) {
  std::int64_t elements = 0;
  for (const Target* target : targets) elements += target->parameter.numel();
  const HostRelease release(elements);
  parallel_for(0, kParts, even_grain(kParts, elements / kParts), [&](std::int64_t first, std::int64_t last) {
    for (const Target* target : targets) {
      const std::int64_t n = target->parameter.numel();
      const std::int64_t part = (n + kParts * kLine - 1) / (kParts * kLine) * kLine;
      const std::int64_t begin = std::min(n, first * part);
      const std::int64_t end = std::min(n, last * part);
      if (begin < end) body(*target, begin, end);
    }
  });
}

template <class T>
const cpu::OptimizerKernels<T>& kernels() {
  if constexpr (std::is_same_v<T, float>) {
    return cpu_kernels().optimizer.float32;
  } else {
    return cpu_kernels().optimizer.float64;
  }
}

template <class T>
T* at(const Tensor& x, std::int64_t begin) {
  return x.defined() ? x.data<T>() + begin : nullptr;
}

template <class S>
SgdNumbers<S> numbers_of(const SgdOptions& options) {
  return {.rate = static_cast<S>(options.lr),
          .momentum = static_cast<S>(options.momentum),
          .kept = static_cast<S>(1 - options.dampening),
          .weight_decay = static_cast<S>(options.weight_decay),
          .nesterov = options.nesterov,
          .maximize = options.maximize,
          .first = options.first};
}

template <class S>
AdamNumbers<S> numbers_of(const AdamOptions& options) {
  const auto step = static_cast<double>(options.step);
  return {.rate = static_cast<S>(options.lr / (1 - std::pow(options.beta1, step))),
          .beta1 = static_cast<S>(options.beta1),
          .kept1 = static_cast<S>(1 - options.beta1),
          .beta2 = static_cast<S>(options.beta2),
          .kept2 = static_cast<S>(1 - options.beta2),
          .root = static_cast<S>(std::sqrt(1 - std::pow(options.beta2, step))),
          .eps = static_cast<S>(options.eps),
          .weight_decay = static_cast<S>(options.decoupled ? 0 : options.weight_decay),
          .shrink = static_cast<S>(options.decoupled ? 1 - options.lr * options.weight_decay : 1),
          .maximize = options.maximize};
}

template <class T>
void run(const std::vector<const SgdTarget*>& targets, const SgdOptions& options) {
  const auto numbers = numbers_of<T>(options);
  over_pieces(targets, [&](const SgdTarget& target, std::int64_t begin, std::int64_t end) {
    kernels<T>().sgd(numbers, end - begin, at<T>(target.parameter, begin), at<T>(target.gradient, begin),
                     at<T>(target.velocity, begin));
  });
}

template <class T>
void run(const std::vector<const AdamTarget*>& targets, const AdamOptions& options) {
  const auto numbers = numbers_of<T>(options);
  over_pieces(targets, [&](const AdamTarget& target, std::int64_t begin, std::int64_t end) {
    kernels<T>().adam(numbers, end - begin, at<T>(target.parameter, begin), at<T>(target.gradient, begin),
                      at<T>(target.mean, begin), at<T>(target.square, begin), at<T>(target.largest, begin));
  });
}

/// Composes the step from operators, for tensors that the kernels do not support.
void run_composed(const SgdTarget& target, const SgdOptions& options) {
  const auto numbers = numbers_of<double>(options);
  const Tensor& p = target.parameter;
  const Tensor g = penalized(numbers, p, target.gradient);
  if (!target.velocity.defined()) {
    sub_(p, g * numbers.rate);
    return;
  }
  copy_(target.velocity, next_velocity(numbers, g, target.velocity));
  sub_(p, sgd_step(numbers, g, target.velocity));
}

void run_composed(const AdamTarget& target, const AdamOptions& options) {
  const auto numbers = numbers_of<double>(options);
  const Tensor& p = target.parameter;
  if (numbers.shrink != 1) mul_(p, numbers.shrink);
  const Tensor g = penalized(numbers, p, target.gradient);
  copy_(target.mean, next_mean(numbers, g, target.mean));
  copy_(target.square, next_square(numbers, g, target.square));
  if (target.largest.defined()) copy_(target.largest, maximum(target.largest, target.square));
  sub_(p, adam_step(numbers, target.mean, target.largest.defined() ? target.largest : target.square));
}

template <class Target, class Options>
void step_all(std::span<const Target> targets, const Options& options, const char* op) {
  const autograd::NoGrad no_grad;
  for (const Target& target : targets) check_target(target, op);
  std::vector<const Target*> float32;
  std::vector<const Target*> float64;
  for (const Target& target : targets) {
    if (!is_one_row(target)) {
      run_composed(target, options);
    } else if (target.parameter.dtype() == DType::Float32) {
      float32.push_back(&target);
    } else {
      float64.push_back(&target);
    }
  }
  run<float>(float32, options);
  run<double>(float64, options);
  for (const std::vector<const Target*>& targets_of_kernels : {float32, float64}) {
    for (const Target* target : targets_of_kernels) finish(*target, op);
  }
}

}  // namespace

void sgd_step(std::span<const SgdTarget> targets, const SgdOptions& options) { step_all(targets, options, "sgd_step"); }

void adam_step(std::span<const AdamTarget> targets, const AdamOptions& options) {
  for (const AdamTarget& target : targets) {
    check_defined(target.mean, "adam_step");
    check_defined(target.square, "adam_step");
  }
  step_all(targets, options, "adam_step");
}

}  // namespace lamella::optim
