#include "ops/nn/ctc_sequences.h"

#include <algorithm>
#include <vector>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/nn/ctc_formulas.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/device_kernels.h"

// The CPU's kernels of ctc_loss, of which a call takes one sequence.

namespace lamella {
namespace {

/// Calls run(kernels, args, number) for each sequence, several threads at once.
template <class Run>
void for_each_sequence(const CtcSequences& sequences, const Tensor& alpha, const Run& run) {
  const Tensor& log_p = sequences.log_p;
  const std::int64_t count = log_p.size(1);
  constexpr std::int64_t kStateWork = 16;  // work of a state's step, relative to an element of a simple loop
  const std::int64_t work = log_p.size(0) * (log_p.size(2) + (2 * sequences.longest + 1) * kStateWork);
  const HostRelease release(count * work);
  const auto with = [&]<class T>(const cpu::CtcKernels<T>& kernels, T) {
    parallel_for(0, count, even_grain(count, work), [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> scratch(static_cast<std::size_t>(cpu::ctc_scratch(sequences.longest)));
      for (std::int64_t i = begin; i < end; ++i) {
        cpu::CtcArgs<T> args;
        args.log_p = log_p.data<T>() + i * log_p.size(2);
        args.stride = count * log_p.size(2);
        args.steps = sequences.lengths.data<std::int64_t>()[i];
        args.classes = log_p.size(2);
        args.targets = sequences.labels.data<std::int64_t>() + i * sequences.labels.size(1);
        args.labels = sequences.lengths.data<std::int64_t>()[count + i];
        args.blank = sequences.blank;
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

Tensor on_cpu(const CtcSequences& sequences, const Tensor& losses, bool keep) {
  const std::int64_t steps = sequences.log_p.size(0);
  const std::int64_t rows = keep ? steps : std::min<std::int64_t>(2, steps);
  Tensor alpha = empty({losses.numel(), rows, cpu::ctc_row(sequences.longest)}, losses.dtype());
  for_each_sequence(sequences, alpha,
                    [&]<class T>(const cpu::CtcKernels<T>& kernels, const cpu::CtcArgs<T>& args, std::int64_t i) {
                      const T none = args.labels == 0 ? T(0) : T(-cpu::kCtcNever);
                      losses.data<T>()[i] = args.steps == 0 ? none : kernels.forward(args);
                    });
  return alpha;
}

Tensor gradient_on_cpu(const CtcSequences& sequences, const Tensor& alpha, const Tensor& losses, const Tensor& dy) {
  Tensor dx = empty(sequences.log_p.shape(), losses.dtype());
  for_each_sequence(sequences, alpha,
                    [&]<class T>(const cpu::CtcKernels<T>& kernels, const cpu::CtcArgs<T>& args, std::int64_t i) {
                      T* const rows = dx.data<T>() + i * args.classes;
                      const T loss = losses.data<T>()[i];
                      const bool none = args.steps == 0 || ctc::is_impossible(loss);
                      for (std::int64_t t = none ? 0 : args.steps; t < sequences.log_p.size(0); ++t)
                        std::fill_n(rows + t * args.stride, args.classes, T(0));
                      if (!none) kernels.backward(args, loss, dy.data<T>()[i], rows);
                    });
  return dx;
}

[[maybe_unused]] const bool kRegistered =
    register_kernel<&DeviceKernels::ctc>(DeviceType::CPU, on_cpu) &&
    register_kernel<&DeviceKernels::ctc_gradient>(DeviceType::CPU, gradient_on_cpu);

}  // namespace
}  // namespace lamella
