#include "ops/nn/cross_entropy.h"

#include <array>
#include <atomic>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/where.h"
#include "ops/index/picks.h"
#include "ops/index/rows.h"
#include "ops/movement/cast.h"
#include "ops/movement/integers.h"
#include "ops/nn/cross_entropy_rows.h"
#include "ops/nn/reduction.h"
#include "ops/nn/softmax.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/unfollowed.h"

namespace lamella {
namespace {

/// The axis of an input's classes.
struct Classes {
  std::size_t axis;
  std::int64_t count;
  std::int64_t inner = 1;  ///< number of elements behind the axis
  Dims samples;            ///< the input's shape without the axis

  Classes(const Tensor& input, std::optional<std::int64_t> given, const char* op) {
    check_defined(input, op);
    if (input.ndim() == 0) fail<ValueError>("[", op, "] input needs an axis of classes, got a 0-d tensor");
    axis = static_cast<std::size_t>(normalize_axis(given.value_or(input.ndim() == 1 ? 0 : 1), input.ndim(), op));
    count = input.shape()[axis];
    for (std::size_t i = 0; i < input.ndim(); ++i) {
      if (i != axis) samples.push_back(input.shape()[i]);
      if (i > axis) inner *= input.shape()[i];
    }
  }
};

/// Throws unless target can hold class numbers: TypeError for another dtype, ValueError for another shape.
void check_numbers(const Tensor& target, const Classes& classes, const char* op) {
  if (!is_integral(target.dtype())) fail<TypeError>("[", op, "] target must hold class numbers, got ", target.dtype());
  if (target.shape() != classes.samples) {
    fail<ValueError>("[", op, "] target must have the shape of input without its axis of classes, ", classes.samples,
                     ", got ", target.shape());
  }
}

/// Class numbers for a lookup: ignored ones are replaced by 0.
struct Targets {
  Tensor numbers;  ///< int64
  Tensor counted;  ///< bool mask of the targets that count; undefined if none is ignored

  Targets(const Tensor& target, std::int64_t ignore_index, const char* op) {
    numbers = as_index(target, op);
    if (has_none(numbers, ignore_index)) return;
    counted = target != ignore_index;
    numbers = where(counted, numbers, 0);
  }

 private:
  /// True if a check of host memory, without a copy or a wait, shows that no target is ignored.
  static bool has_none(const Tensor& numbers, std::int64_t ignored) {
    if (!numbers.device().is_cpu() || is_batched(numbers) || !numbers.is_contiguous()) return false;
    const auto* const number = numbers.data<std::int64_t>();
    bool any = false;
    for (std::int64_t i = 0; i < numbers.numel(); ++i) any |= number[i] == ignored;
    return !any;
  }
};

void check_weight(const std::optional<Tensor>& weight, const Classes& classes, const char* op) {
  if (weight && (weight->ndim() != 1 || weight->numel() != classes.count)) {
    fail<ValueError>("[", op, "] weight must have an element for each of the ", classes.count,
                     " classes, got the shape ", weight->shape());
  }
}

/// Returns the flat positions in the input of the elements that the class numbers pick. Throws IndexError for a number
/// that is not a class.
Tensor places_of(const Tensor& numbers, const Classes& classes, const char* op) {
  const std::int64_t samples = numbers.numel();
  const std::int64_t outer = classes.inner == 0 ? 0 : samples / classes.inner;
  const Device device = numbers.device();
  const auto axis = static_cast<std::int64_t>(classes.axis);
  if (device.is_cpu() && !is_batched(numbers)) {
    const Tensor given = contiguous(numbers);
    Tensor places = empty({samples}, DType::Int64);
    const auto* number = given.data<std::int64_t>();
    auto* place = places.data<std::int64_t>();
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < classes.inner; ++i, ++number) {
        if (*number < 0 || *number >= classes.count) {
          fail<IndexError>("[", op, "] index ", *number, " is out of range for axis ", axis, " of size ",
                           classes.count);
        }
        *place++ = (o * classes.count + *number) * classes.inner + i;
      }
    }
    return places;
  }
  const Tensor flat = reshape(numbers, Dims{outer, classes.inner});
  const Tensor row = arange(0, Scalar(outer), 1, DType::Int64, device);
  if (classes.inner == 1) {
    const Tensor chosen[] = {row, reshape(flat, Dims{samples})};
    return pick_rows(chosen, Dims{outer, classes.count}, Dims{0, axis}, op, NegativeIndex::Refuse);
  }
  const Tensor place = arange(0, Scalar(classes.inner), 1, DType::Int64, device);
  const Tensor zero = flat * 0;
  const Tensor chosen[] = {reshape(row, Dims{outer, 1}) + zero, flat, place + zero};
  return pick_rows(chosen, Dims{outer, classes.count, classes.inner}, Dims{0, axis, axis + 1}, op,
                   NegativeIndex::Refuse);
}

/// Returns input[..., numbers, ...] in the shape of the samples. Throws IndexError for a number that is not a class.
Tensor pick_classes(const Tensor& input, const Tensor& numbers, const Classes& classes, const char* op) {
  check_same_device(input, numbers, op);
  const Tensor elements = reshape(input, Dims{numbers.numel() * classes.count, 1});
  return reshape(gather_rows(elements, places_of(numbers, classes, op)), classes.samples);
}

/// Returns -input[..., target, ...] computed in one pass, if the result is not recorded and every target is a class
/// that counts; otherwise undefined.
Tensor plain_terms(const Tensor& input, const Tensor& target, const Classes& classes, std::int64_t ignore_index) {
  const std::array<const Tensor*, 2> operands{&input, &target};
  constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
  const bool takes_loop = is_unfollowed(operands) && kTaken.contains(input.dtype()) && target.dtype() == DType::Int64 &&
                          input.is_contiguous() && target.is_contiguous() && target.shape() == classes.samples;
  if (!takes_loop) return {};
  constexpr std::int64_t kGrain = 8192;  // samples per task
  Tensor out = empty(classes.samples, input.dtype());
  std::atomic<bool> others = false;
  const HostRelease release(out.numel());
  visit<kTaken>(input.dtype(), "nll_loss", [&]<class T> {
    const T* const from = input.data<T>();
    const auto* const number = target.data<std::int64_t>();
    T* const to = out.data<T>();
    const auto count = static_cast<std::uint64_t>(classes.count);
    parallel_for(0, out.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t chosen = number[i];
        if (static_cast<std::uint64_t>(chosen) >= count || chosen == ignore_index) {
          others = true;
          return;
        }
        const std::int64_t sample = classes.inner == 1 ? i : i / classes.inner;
        const std::int64_t place = classes.inner == 1 ? 0 : i % classes.inner;
        to[i] = -from[(sample * classes.count + chosen) * classes.inner + place];
      }
    });
  });
  if (others) return {};
  autograd::note_derived(operands, out);
  return out;
}

/// Classes of samples that are rows, of which those that do not count are -1.
struct RowClasses {
  Tensor numbers;  ///< int64
  std::int64_t counted = 0;

  RowClasses(const Tensor& target, const Classes& classes, std::int64_t ignored, const char* op) {
    const Tensor given = contiguous(as_index(target, op));
    const Tensor made = empty({given.numel()}, DType::Int64);
    const auto* const number = given.data<std::int64_t>();
    auto* const to = made.data<std::int64_t>();
    for (std::int64_t i = 0; i < given.numel(); ++i) {
      if (number[i] != ignored && (number[i] < 0 || number[i] >= classes.count)) {
        fail<IndexError>("[", op, "] index ", number[i], " is out of range for axis ", classes.axis, " of size ",
                         classes.count);
      }
      to[i] = number[i] == ignored ? -1 : number[i];
      counted += number[i] != ignored;
    }
    numbers = made;
  }
};

/// True if the samples are rows that cross_entropy_rows() takes.
bool are_rows(const Tensor& input, const Tensor& target, const Classes& classes) {
  return classes.inner == 1 && classes.count > 0 && input.device() == target.device() &&
         takes_cross_entropy_rows(input) && !is_batched(input) && !is_batched(target) &&
         (input.device().is_cpu() || has_device_kernel<&DeviceKernels::pick_positions>(input.device()));
}

/// Returns the classes of samples that are rows, on a device with a kernel for positions, as RowClasses has them.
Tensor row_classes_there(const Tensor& target, std::int64_t ignore_index, const Classes& classes, const char* op) {
  Tensor given = contiguous(reshape(as_index(target, op), Dims{target.numel()}));
  if (given.numel() == 0) return given;
  return device_kernel<&DeviceKernels::pick_positions>(given.device(), op)(
      {&given, 1}, Dims{classes.count}, Dims{static_cast<std::int64_t>(classes.axis)}, false, ignore_index, op);
}

/// Returns of_rows() on a device other than the CPU.
Tensor of_rows_there(const Tensor& input, const Tensor& target, std::int64_t ignore_index, std::string_view reduction,
                     double smoothing, const Classes& classes) {
  constexpr const char* kOp = CrossEntropy::info.name;
  const Tensor numbers = row_classes_there(target, ignore_index, classes, kOp);
  const Tensor matrix = input.ndim() == 2 ? input : reshape(input, Dims{numbers.numel(), classes.count});
  const Tensor terms = cross_entropy_rows(matrix, numbers, smoothing);
  if (reduction == "mean") {
    const Tensor count = sum(numbers >= 0, std::nullopt, false, DType::Int64);
    return sum(terms) / cast(count, terms.dtype());
  }
  return reduce_loss(input.ndim() == 2 || reduction != "none" ? terms : reshape(terms, classes.samples), reduction,
                     kOp);
}

/// Returns cross_entropy for samples that are rows. `seed` is the gradient that is expected to come, if one is known.
Tensor of_rows(const Tensor& input, const Tensor& target, std::int64_t ignore_index, std::string_view reduction,
               double smoothing, const Classes& classes, std::optional<double> seed) {
  if (!input.device().is_cpu()) return of_rows_there(input, target, ignore_index, reduction, smoothing, classes);
  const RowClasses rows(target, classes, ignore_index, CrossEntropy::info.name);
  const std::int64_t samples = rows.numbers.numel();
  const Tensor matrix = input.ndim() == 2 ? input : reshape(input, Dims{samples, classes.count});
  if (reduction == "none") {
    const Tensor terms = cross_entropy_rows(matrix, rows.numbers, smoothing);
    return input.ndim() == 2 ? terms : reshape(terms, classes.samples);
  }
  TermsReduction reduced;
  if (reduction == "mean") {
    reduced.mean = rows.counted == samples;
    reduced.divisor = static_cast<double>(rows.counted);
  }
  if (seed && samples > 0) return cross_entropy_with_gradient(matrix, rows.numbers, smoothing, reduced, *seed);
  return reduced.of(cross_entropy_rows(matrix, rows.numbers, smoothing));
}

/// Returns the weight of each sample's class; undefined if all are 1.
Tensor weights_of(const std::optional<Tensor>& weight, const Tensor& numbers) {
  if (!weight) return {};
  const std::int64_t samples = numbers.numel();
  // Copied, because the caller may change the numbers.
  const Tensor rows = reshape(numbers * 1, Dims{samples});
  return reshape(gather_rows(reshape(*weight, Dims{weight->numel(), 1}), rows), numbers.shape());
}

/// Returns the reduction of all samples' terms; the mean is weighted over the samples that count.
Tensor reduced(const Tensor& all, const Tensor& weights, const Targets& targets, std::string_view reduction,
               const char* op) {
  const Tensor terms = targets.counted.defined() ? where(targets.counted, all, 0) : all;
  if (reduction != "mean" || (!weights.defined() && !targets.counted.defined()))
    return reduce_loss(terms, reduction, op);
  const Tensor total = !weights.defined()          ? sum(targets.counted, std::nullopt, false, terms.dtype())
                       : targets.counted.defined() ? sum(where(targets.counted, weights, 0))
                                                   : sum(weights);
  return sum(terms) / total;
}

/// Reshapes the weight so that it broadcasts to the input's shape.
Tensor along_classes(const Tensor& weight, const Classes& classes, std::size_t ndim) {
  Dims shape(ndim, 1);
  shape[classes.axis] = classes.count;
  return reshape(weight, shape);
}

Tensor of_probabilities(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                        std::string_view reduction, double smoothing, const Classes& classes) {
  if (!is_floating(target.dtype())) {
    fail<TypeError>("[cross_entropy] a target of input's shape must hold probabilities, got ", target.dtype());
  }
  const auto axis = static_cast<std::int64_t>(classes.axis);
  Tensor share = target;
  if (smoothing > 0) share = share * (1 - smoothing) + smoothing / static_cast<double>(classes.count);
  if (weight) share = share * along_classes(*weight, classes, input.ndim());
  // A class with a share of 0 contributes 0, even if its probability is 0 and the logarithm infinite.
  const Tensor log_p = log_softmax(input, axis);
  const Tensor terms = -sum(where((share == 0) & isinf(log_p), 0, log_p) * share, axis);
  return reduce_loss(terms, reduction, "cross_entropy");
}

/// Returns cross_entropy; `seed` is the gradient that is expected to come, if one is known.
Tensor loss_of(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
               std::int64_t ignore_index, std::string_view reduction, double label_smoothing,
               std::optional<std::int64_t> axis, std::optional<double> seed) {
  constexpr auto& info = CrossEntropy::info;
  check_reduction(reduction, info.name);
  if (!(label_smoothing >= 0 && label_smoothing <= 1))
    fail<ValueError>("[cross_entropy] label_smoothing must lie in [0, 1], got ", label_smoothing);
  const Classes classes(input, axis, info.name);
  check_weight(weight, classes, info.name);
  const Tensor values = as_floating(input, info.name);
  if (target.shape() == input.shape())
    return of_probabilities(values, target, weight, reduction, label_smoothing, classes);
  check_numbers(target, classes, info.name);
  // Low precision is computed in float32.
  const bool narrow = item_size(values.dtype()) < sizeof(float) && values.device().is_cpu();
  const Tensor wide = narrow ? cast(values, DType::Float32) : values;
  if (!weight && are_rows(wide, target, classes)) {
    const Tensor loss = of_rows(wide, target, ignore_index, reduction, label_smoothing, classes, seed);
    return narrow ? cast(loss, values.dtype()) : loss;
  }
  const Targets targets(target, ignore_index, info.name);
  const auto at = static_cast<std::int64_t>(classes.axis);
  // Ignored samples may be infinite or NaN: they are replaced before anything is computed from them.
  const Tensor log_p =
      log_softmax(targets.counted.defined() ? where(expand_dims(targets.counted, at), values, 0) : values, at);
  Tensor terms = -pick_classes(log_p, targets.numbers, classes, info.name);
  const Tensor weights = weights_of(weight, targets.numbers);
  if (weights.defined()) terms = terms * weights;
  if (label_smoothing > 0) {
    const Tensor spread = -sum(weight ? log_p * along_classes(*weight, classes, input.ndim()) : log_p, at);
    terms = terms * (1 - label_smoothing) + spread * (label_smoothing / static_cast<double>(classes.count));
  }
  return reduced(terms, weights, targets, reduction, info.name);
}

}  // namespace

Tensor NllLoss::call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                     std::int64_t ignore_index, std::string_view reduction, std::optional<std::int64_t> axis) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<NllLoss>(input, target, weight, ignore_index, reduction, axis);
  if (any_integer(input, weight))
    return call_in_floats<NllLoss>(input, AsIs{target}, weight, ignore_index, reduction, axis);
  check_reduction(reduction, info.name);
  const Classes classes(input, axis, info.name);
  check_weight(weight, classes, info.name);
  check_defined(target, info.name);
  if (!weight) {
    const Tensor terms = plain_terms(input, target, classes, ignore_index);
    if (terms.defined()) return reduce_loss(terms, reduction, info.name);
  }
  check_numbers(target, classes, info.name);
  const Targets targets(target, ignore_index, info.name);
  Tensor terms = -pick_classes(input, targets.numbers, classes, info.name);
  const Tensor weights = weights_of(weight, targets.numbers);
  if (weights.defined()) terms = terms * weights;
  return reduced(terms, weights, targets, reduction, info.name);
}

Tensor CrossEntropy::call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                          std::int64_t ignore_index, std::string_view reduction, double label_smoothing,
                          std::optional<std::int64_t> axis) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<CrossEntropy>(input, target, weight, ignore_index, reduction, label_smoothing, axis);
  if (any_integer(input, weight)) {
    return call_in_floats<CrossEntropy>(input, AsIs{target}, weight, ignore_index, reduction, label_smoothing, axis);
  }
  return loss_of(input, target, weight, ignore_index, reduction, label_smoothing, axis, {});
}

Tensor cross_entropy_foreseen(const Tensor& input, const Tensor& target, std::int64_t ignore_index,
                              std::string_view reduction, double label_smoothing, std::optional<std::int64_t> axis,
                              const Tensor& seed) {
  const Tensor operands[] = {input, target};
  const bool plain = !autograd::autocast_active() && autograd::is_grad_enabled() && !autograd::modes().interceptors &&
                     !input.stop_gradient() && input.device().is_cpu() && !autograd::any_dual(operands) &&
                     item_size(input.dtype()) >= sizeof(float);
  std::optional<double> known;
  if (plain && !seed.defined()) known = 1;
  if (plain && seed.defined() && seed.device().is_cpu() && seed.ndim() == 0 && seed.dtype() == input.dtype())
    known = seed.dtype() == DType::Float32 ? static_cast<double>(*seed.data<float>()) : *seed.data<double>();
  if (!known) return CrossEntropy::call(input, target, {}, ignore_index, reduction, label_smoothing, axis);
  return loss_of(input, target, {}, ignore_index, reduction, label_smoothing, axis, known);
}

}  // namespace lamella
