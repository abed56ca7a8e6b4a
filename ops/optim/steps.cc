#include "ops/optim/steps.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/results.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/strided.h"

namespace lamella::optim {
namespace {

constexpr std::int64_t kParts = 64;  // most parts that a tensor is split into
constexpr std::int64_t kLine = 16;   // elements of a cache line, which threads do not share

/// A formula as code that is not compiled per instruction set knows it.
struct Entry {
  const char* name;
  std::size_t states;
  std::size_t numbers;
  /// Composes the step from operators, for tensors that the kernels do not support.
  void (*compose)(const Target& target, const double* numbers, const Shared<double>& shared);
};

template <class F>
void compose(const Target& target, const double* numbers, const Shared<double>& shared) {
  Tensor parameter = target.parameter;
  std::array<Tensor, F::kStates> states;
  std::copy_n(target.states.begin(), F::kStates, states.begin());
  advance(formula_of<F, double>(numbers), shared, parameter, target.gradient, states);
  for (std::size_t i = 0; i < F::kStates; ++i) {
    if (states[i].defined()) copy_(target.states[i], states[i]);
  }
  copy_(target.parameter, parameter);
}

template <template <class> class... F>
constexpr auto entries(FormulaList<F...>) {
  return std::array{Entry{F<double>::kName, F<double>::kStates, kNumbers<F<double>, double>, compose<F<double>>}...};
}

constexpr auto kEntries = entries(Formulas());

const Entry& entry_of(std::size_t formula) {
  if (formula >= kEntries.size()) fail<ValueError>("[optimizer] there is no formula of the number ", formula);
  return kEntries[formula];
}

/// Returns the states that a formula has, some of which may be undefined.
std::span<const Tensor> states_of(const Target& target, const Entry& entry) {
  return std::span(target.states).first(entry.states);
}

void check_target(const Target& target, const Entry& entry) {
  const char* op = entry.name;
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
  for (const Tensor& x : states_of(target, entry)) {
    if (!x.defined()) continue;
    check_writable(x, op);
    check_beside(x, "the optimizer's state");
  }
}

/// True if a kernel can run over all elements as over one contiguous row.
bool is_one_row(const Target& target, const Entry& entry) {
  const Tensor& parameter = target.parameter;
  const DType dtype = parameter.dtype();
  const Device device = parameter.device();
  const bool has_kernel = device.is_cpu() || has_device_kernel<&DeviceKernels::optimizer_step>(device);
  if (!has_kernel || !parameter->contiguous) return false;
  if (dtype != DType::Float32 && dtype != DType::Float64) return false;
  const auto fits = [&](const Tensor& x) {
    return x->contiguous && x.dtype() == dtype && (x->data == parameter->data || !may_overlap(x, parameter));
  };
  return fits(target.gradient) &&
         std::ranges::all_of(states_of(target, entry), [&](const Tensor& x) { return !x.defined() || fits(x); });
}

/// Returns views of the real and imaginary parts of a complex target, which a step moves each by itself.
Target parts_of(const Target& target) {
  const auto parts = [](const Tensor& x) { return ViewAsReal::call(x); };
  Target result{parts(target.parameter), parts(cast(target.gradient, target.parameter.dtype())), {}};
  std::ranges::transform(target.states, result.states.begin(),
                         [&](const Tensor& x) { return x.defined() ? parts(x) : x; });
  return result;
}

/// Marks the tensors of a step as written.
void finish(const Target& target, const Entry& entry) {
  for (const Tensor& x : states_of(target, entry)) {
    if (x.defined()) mark_written(x, entry.name);
  }
  mark_written(target.parameter, entry.name);
  const Tensor* const inputs[] = {&target.gradient};
  note_unrecorded(entry.name, inputs, target.parameter);
}

/// Calls body(target, first, last) for ranges that cover the elements of all targets, on several threads if there are
/// many. A thread takes the same part of every tensor: the part that it had in the forward and backward products, which
/// may still be in its cache.
template <class Body>
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
void run_on_cpu(const Entry& entry, const std::vector<const Target*>& targets, const double* numbers,
                const Shared<double>& shared) {
  const cpu::OptimizerTable& table = cpu_kernels().optimizer;
  const cpu::OptimizerStep<T>* kernels;
  if constexpr (std::is_same_v<T, float>) {
    kernels = table.float32;
  } else {
    kernels = table.float64;
  }
  const cpu::OptimizerStep<T> kernel = kernels[&entry - kEntries.data()];
  const auto at = [](const Tensor& x, std::int64_t begin) { return x.defined() ? x.data<T>() + begin : nullptr; };
  over_pieces(targets, [&](const Target& target, std::int64_t begin, std::int64_t end) {
    std::array<T*, kMostStates> states;
    std::ranges::transform(states_of(target, entry), states.begin(), [&](const Tensor& x) { return at(x, begin); });
    kernel(numbers, shared, end - begin, at(target.parameter, begin), at(target.gradient, begin), states.data());
  });
}

/// Runs the kernel for targets of dtype T on one device.
template <class T>
void run_on(Device device, const Entry& entry, const std::vector<const Target*>& targets,
            std::span<const double> numbers, const Shared<double>& shared) {
  if (device.is_cpu()) return run_on_cpu<T>(entry, targets, numbers.data(), shared);
  const auto kernel = device_kernel<&DeviceKernels::optimizer_step>(device, entry.name);
  kernel(static_cast<std::size_t>(&entry - kEntries.data()), targets, numbers, shared);
}

/// Runs the kernel for targets of dtype T, device by device.
template <class T>
void run(const Entry& entry, const std::vector<const Target*>& targets, std::span<const double> numbers,
         const Shared<double>& shared) {
  if (targets.empty()) return;
  const Device device = targets[0]->parameter.device();
  const auto is_here = [device](const Target* target) { return target->parameter.device() == device; };
  if (std::ranges::all_of(targets, is_here)) return run_on<T>(device, entry, targets, numbers, shared);
  std::vector<const Target*> here;
  std::vector<const Target*> others;
  std::ranges::partition_copy(targets, std::back_inserter(here), std::back_inserter(others), is_here);
  run_on<T>(device, entry, here, numbers, shared);
  run<T>(entry, others, numbers, shared);
}

}  // namespace

std::size_t formula_of_name(std::string_view name) {
  const auto* found = std::ranges::find(kEntries, name, &Entry::name);
  if (found == kEntries.end()) fail<ValueError>("[optimizer] there is no formula of the name ", name);
  return static_cast<std::size_t>(found - kEntries.begin());
}

std::size_t states_of(std::size_t formula) { return entry_of(formula).states; }

void step(std::size_t formula, std::span<const Target> targets, std::span<const double> numbers,
          const Shared<double>& shared) {
  const autograd::NoGrad no_grad;
  const Entry& entry = entry_of(formula);
  if (numbers.size() != entry.numbers) {
    fail<ValueError>("[", entry.name, "] takes ", entry.numbers, " numbers, got ", numbers.size());
  }
  bool any_complex = false;
  for (const Target& target : targets) {
    check_target(target, entry);
    any_complex |= is_complex(target.parameter.dtype());
  }
  std::vector<Target> parts;
  if (any_complex) {
    for (const Target& target : targets) {
      parts.push_back(is_complex(target.parameter.dtype()) ? parts_of(target) : target);
    }
    targets = parts;
  }
  std::vector<const Target*> float32;
  std::vector<const Target*> float64;
  float32.reserve(targets.size());
  for (const Target& target : targets) {
    if (!is_one_row(target, entry)) {
      entry.compose(target, numbers.data(), shared);
    } else if (target.parameter.dtype() == DType::Float32) {
      float32.push_back(&target);
    } else {
      float64.push_back(&target);
    }
  }
  run<float>(entry, float32, numbers, shared);
  run<double>(entry, float64, numbers, shared);
  for (const Target* target : float32) finish(*target, entry);
  for (const Target* target : float64) finish(*target, entry);
}

}  // namespace lamella::optim
