#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/late_error.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/creation/creation.h"
#include "ops/cuda/lanes.h"
#include "ops/cuda/report.h"
#include "ops/nn/ctc_formulas.h"
#include "ops/nn/ctc_sequences.h"
#include "ops/simd/lane.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

// Note [CTC by blocks]
// A block goes through the steps of a sequence, and its threads share the states of a step: a label and the blank in
// front of it are one thread's. The rows of states lie in global memory, for any number of labels; what is read of them
// was written a step before, and is in a cache. The gradient collects what the states of several steps give before it
// sums up what belongs to one class, which is serial where a label repeats, for many steps at once.

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr const char* kName = "ctc_loss";
constexpr std::int64_t kStepsAtOnce = 32;  // of the gradient

/// The arguments of both kernels.
template <class T>
struct CtcArgs {
  const T* log_p;
  const std::int64_t* labels;
  const std::int64_t* lengths;
  std::int64_t count;
  std::int64_t classes;
  std::int64_t stride;  ///< from the labels of a sequence to those of the next one, 0 if these follow directly
  std::int64_t longest;
  std::int64_t blank;

  explicit CtcArgs(const CtcSequences& given)
      : log_p(given.log_p.data<T>()),
        labels(given.labels.data<std::int64_t>()),
        lengths(given.lengths.data<std::int64_t>()),
        count(given.log_p.size(1)),
        classes(given.log_p.size(2)),
        stride(given.labels.ndim() == 2 ? given.labels.size(1) : 0),
        longest(given.longest),
        blank(given.blank) {}

  /// Number of states in a row: the labels, then the blanks.
  __host__ __device__ std::int64_t states() const { return 2 * longest + 1; }
};

/// The states of a step, or a number for each.
template <class T>
struct States {
  T* labels;
  T* blanks;

  __device__ States(T* row, std::int64_t longest) : labels(row), blanks(row + longest) {}
};

/// The sequence of a block.
template <class T>
struct Sequence {
  using V = simd::Lane<T>;

  const CtcArgs<T>& args;
  std::int64_t number;
  std::int64_t steps;
  std::int64_t labels;  ///< how many there are
  const std::int64_t* label;

  /// All threads of the block must call it.
  __device__ explicit Sequence(const CtcArgs<T>& given)
      : args(given),
        number(blockIdx.x),
        steps(given.lengths[blockIdx.x]),
        labels(given.lengths[given.count + blockIdx.x]),
        label(given.labels + (given.stride > 0 ? number * given.stride : labels_before())) {}

  static __device__ V never() { return V(cpu::kCtcNever); }

  __device__ bool is_class(std::int64_t k) const { return label[k] >= 0 && label[k] < args.classes; }
  __device__ std::int64_t row(std::int64_t step) const { return (step * args.count + number) * args.classes; }
  __device__ V emitted_blank(std::int64_t step) const {
    return ctc::at_least_never(args.log_p[row(step) + args.blank]);
  }
  __device__ V emitted(std::int64_t step, std::int64_t k) const {
    return is_class(k) ? V(ctc::at_least_never(args.log_p[row(step) + label[k]])) : never();
  }
  /// True if there is a k-th label that may follow the one before it.
  __device__ bool may_follow(std::int64_t k) const {
    return k > 0 && k < labels && ctc::may_follow(label[k], label[k - 1], args.blank);
  }

 private:
  __device__ std::int64_t labels_before() const {
    __shared__ std::int64_t shared[kLaneThreads];
    std::int64_t sum = 0;
    for (std::int64_t i = threadIdx.x; i < number; i += kLaneThreads) sum += args.lengths[args.count + i];
    return combine_lanes(shared, sum, Place(Lanes{kLaneThreads, true}), kLaneThreads,
                         [](std::int64_t a, std::int64_t b) { return a + b; });
  }
};

/// Computes alpha, of which step t has the row t % rows, and the losses.
template <class T>
__global__ void __launch_bounds__(kLaneThreads) forward_kernel(const __grid_constant__ CtcArgs<T> args, T* all_alpha,
                                                               std::int64_t rows, T* losses, LateReport report) {
  using V = simd::Lane<T>;
  const Sequence<T> sequence(args);
  const V never = sequence.never();
  for (std::int64_t k = threadIdx.x; k < sequence.labels; k += kLaneThreads) {
    if (!sequence.is_class(k)) report_late(report, sequence.label[k], args.classes);
  }
  const auto alpha = [&](std::int64_t step) {
    return States<T>(all_alpha + (sequence.number * rows + step % rows) * args.states(), args.longest);
  };
  for (std::int64_t t = 0; t < sequence.steps; ++t) {
    __syncthreads();  // the step before is complete
    const States<T> now = alpha(t);
    const V emitted_blank = sequence.emitted_blank(t);
    for (std::int64_t k = threadIdx.x; k <= sequence.labels; k += kLaneThreads) {
      const bool is_label = k < sequence.labels;
      // Before the first step only the first blank and the first label are reached.
      V to_blank = k == 0 ? V(0) : never;
      V to_label = to_blank;
      if (t > 0) {
        const States<T> before = alpha(t - 1);
        const V blank = before.blanks[k];
        const V last = k > 0 ? V(before.labels[k - 1]) : never;
        to_blank = ctc::log_sum(blank, last);
        if (is_label) to_label = ctc::log_sum(V(before.labels[k]), blank, sequence.may_follow(k) ? last : never);
      }
      now.blanks[k] = (to_blank + emitted_blank).value();
      if (is_label) now.labels[k] = (to_label + sequence.emitted(t, k)).value();
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (sequence.steps == 0) {
    losses[sequence.number] = sequence.labels == 0 ? T(0) : T(-cpu::kCtcNever);
  } else {
    const States<T> end = alpha(sequence.steps - 1);
    const V last = sequence.labels > 0 ? V(end.labels[sequence.labels - 1]) : never;
    losses[sequence.number] = -ctc::log_sum(V(end.blanks[sequence.labels]), last).value();
  }
}

/// Memory of the gradient, for each sequence.
template <class T>
struct Scratch {
  T* rest;             ///< two rows of states
  T* shares;           ///< kStepsAtOnce rows of states
  std::int64_t* next;  ///< for each label the next one of the same class, or -1
  bool* is_first;      ///< for each label, whether none before it has its class

  /// Returns the memory of one sequence.
  __device__ Scratch of(const Sequence<T>& sequence) const {
    const std::int64_t states = sequence.number * sequence.args.states();
    const std::int64_t labels = sequence.number * sequence.args.longest;
    return {rest + 2 * states, shares + kStepsAtOnce * states, next + labels, is_first + labels};
  }
};

/// Links the labels of the same class.
template <class T>
__device__ void link_labels(const Sequence<T>& sequence, const Scratch<T>& scratch) {
  for (std::int64_t k = threadIdx.x; k < sequence.labels; k += kLaneThreads) {
    const std::int64_t label = sequence.label[k];
    std::int64_t next = k + 1;
    while (next < sequence.labels && sequence.label[next] != label) ++next;
    std::int64_t before = k - 1;
    while (before >= 0 && sequence.label[before] != label) --before;
    scratch.next[k] = next < sequence.labels ? next : -1;
    scratch.is_first[k] = before < 0;
  }
}

/// Computes beta of a step, the log-probability of the rest of a sequence by state, and from it the shares of the
/// states in all paths.
template <class T>
__device__ void share_step(const Sequence<T>& sequence, const Scratch<T>& scratch, std::int64_t t, const T* alpha,
                           T loss) {
  using V = simd::Lane<T>;
  const CtcArgs<T>& args = sequence.args;
  const V never = sequence.never();
  const States<T> rest(scratch.rest + t % 2 * args.states(), args.longest);
  const States<T> next(scratch.rest + (t + 1) % 2 * args.states(), args.longest);
  const States<T> shares(scratch.shares + t % kStepsAtOnce * args.states(), args.longest);
  const bool is_last = t == sequence.steps - 1;
  const V emitted_blank = sequence.emitted_blank(t);
  for (std::int64_t k = threadIdx.x; k <= sequence.labels; k += kLaneThreads) {
    const bool is_label = k < sequence.labels;
    const V label = is_label && !is_last ? V(next.labels[k]) : never;
    V beta = k == sequence.labels ? V(0) : never;
    if (!is_last) beta = ctc::log_sum(V(next.blanks[k]), label);
    shares.blanks[k] = exp(V(alpha[args.longest + k]) + beta + loss).value();
    rest.blanks[k] = (beta + emitted_blank).value();
    if (!is_label) continue;
    beta = k == sequence.labels - 1 ? V(0) : never;
    if (!is_last)
      beta = ctc::log_sum(label, V(next.blanks[k + 1]), sequence.may_follow(k + 1) ? V(next.labels[k + 1]) : never);
    shares.labels[k] = exp(V(alpha[k]) + beta + loss).value();
    rest.labels[k] = (beta + sequence.emitted(t, k)).value();
  }
}

/// Returns the share of the blank, or of the class of the first label that has it, in a step.
template <class T>
__device__ T share_of(const Sequence<T>& sequence, const Scratch<T>& scratch, const States<T>& shares, std::int64_t k) {
  T sum = 0;
  if (k < sequence.labels) {
    for (; k >= 0; k = scratch.next[k]) sum += shares.labels[k];
    return sum;
  }
  for (std::int64_t j = 0; j <= sequence.labels; ++j) {
    sum += shares.blanks[j];
    if (j < sequence.labels && sequence.label[j] == sequence.args.blank) sum += shares.labels[j];
  }
  return sum;
}

/// Writes the gradient of what the sequences emit into dx, which is 0 elsewhere.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    backward_kernel(const __grid_constant__ CtcArgs<T> args, const T* all_alpha, std::int64_t rows, const T* losses,
                    const T* dy, Scratch<T> memory, T* dx) {
  const Sequence<T> sequence(args);
  const T loss = losses[sequence.number];
  if (sequence.steps == 0 || ctc::is_impossible(loss)) return;
  const Scratch<T> scratch = memory.of(sequence);
  link_labels(sequence, scratch);
  for (std::int64_t end = sequence.steps; end > 0;) {
    // Rows of shares are those of whole groups of steps.
    const std::int64_t first = (end - 1) / kStepsAtOnce * kStepsAtOnce;
    for (std::int64_t t = end - 1; t >= first; --t) {
      __syncthreads();  // the step behind is complete, and its group has been read
      share_step(sequence, scratch, t, all_alpha + (sequence.number * rows + t) * args.states(), loss);
    }
    __syncthreads();
    const std::int64_t symbols = sequence.labels + 1;
    for (std::int64_t i = threadIdx.x; i < (end - first) * symbols; i += kLaneThreads) {
      const std::int64_t t = first + i / symbols;
      const std::int64_t k = i % symbols;
      const bool is_blank = k == sequence.labels;
      if (!is_blank && (!scratch.is_first[k] || !sequence.is_class(k) || sequence.label[k] == args.blank)) continue;
      const States<T> shares(scratch.shares + t % kStepsAtOnce * args.states(), args.longest);
      dx[sequence.row(t) + (is_blank ? args.blank : sequence.label[k])] =
          -dy[sequence.number] * share_of(sequence, scratch, shares, k);
    }
    end = first;
  }
}

Tensor forward(const CtcSequences& sequences, const Tensor& losses, bool keep) {
  const Device device = losses.device();
  const std::int64_t count = losses.numel();
  const std::int64_t rows = keep ? sequences.log_p.size(0) : std::min<std::int64_t>(2, sequences.log_p.size(0));
  const Tensor alpha = empty({count, rows, 2 * sequences.longest + 1}, losses.dtype(), device);
  const LateReport report = late_report(device, raise_label_error, kName);
  {
    const DeviceGuard guard(device);
    visit<kTaken>(losses.dtype(), kName, [&]<class T>() {
      launch(kName, forward_kernel<T>, static_cast<unsigned>(count), kLaneThreads, 0, current_stream(device),
             CtcArgs<T>(sequences), alpha.data<T>(), rows, losses.data<T>(), report);
    });
  }
  raise_if_blocking(device);
  return keep ? alpha : Tensor();
}

Tensor backward(const CtcSequences& sequences, const Tensor& alpha, const Tensor& losses, const Tensor& dy) {
  const Device device = losses.device();
  const std::int64_t count = losses.numel();
  Tensor dx = zeros(sequences.log_p.shape(), losses.dtype(), device);
  const std::int64_t states = alpha.size(2);
  const Tensor rest = empty({count, 2, states}, losses.dtype(), device);
  const Tensor shares = empty({count, kStepsAtOnce, states}, losses.dtype(), device);
  const Tensor next = empty({count, sequences.longest}, DType::Int64, device);
  const Tensor is_first = empty({count, sequences.longest}, DType::Bool, device);
  const DeviceGuard guard(device);
  visit<kTaken>(losses.dtype(), kName, [&]<class T>() {
    launch(kName, backward_kernel<T>, static_cast<unsigned>(count), kLaneThreads, 0, current_stream(device),
           CtcArgs<T>(sequences), alpha.data<T>(), alpha.size(1), losses.data<T>(), dy.data<T>(),
           Scratch<T>{rest.data<T>(), shares.data<T>(), next.data<std::int64_t>(), is_first.data<bool>()},
           dx.data<T>());
  });
  return dx;
}

[[maybe_unused]] const bool kCtcRegistered = register_kernel<&DeviceKernels::ctc>(DeviceType::CUDA, forward) &&
                                             register_kernel<&DeviceKernels::ctc_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
