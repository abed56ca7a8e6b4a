#include "ops/reduce/cuda/reduce.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/lanes.h"
#include "ops/cuda/strided.h"
#include "ops/reduce/cuda/operations.h"
#include "ops/reduce/norm_range.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

// Each lane of a result combines every lanes-th element, and then the lanes are combined as a tree. Long reductions are
// cut into chunks, whose partial results a second kernel combines. All cuts follow from the shape and the strides, so
// that the bits of a result do not depend on the device or on what else runs.

namespace lamella::cuda {
namespace {

using cpu::Reduction;

constexpr std::uint32_t kPerLane = 64;  // elements per lane in a chunk, unless that gives too many chunks
constexpr std::uint32_t kMaxChunks = 4096;

struct ReduceArgs {
  const char* in;
  char* out;
  /// Memory of the partial results, [chunks, results]; null if there is a single chunk, which writes the result.
  char* partials;
  std::uint32_t results;
  std::uint32_t reduced;
  std::uint32_t chunk;
  std::uint32_t chunks;
  Lanes lanes;
  StridedIndex<1> kept_index;
  StridedIndex<1> reduced_index;
};

/// Number of elements that a lane reads before it combines them: 2 MB of a device's memory have to be under way at any
/// time for its full bandwidth.
template <class T>
inline constexpr std::uint32_t kAtOnce = sizeof(T) >= 8 ? 4 : 8;

/// Combines every lanes-th element from `first` to `end`, in their order, of a single axis.
template <class Op>
__device__ typename Op::Partial combine_along(const typename Op::In* in, std::int64_t stride, std::uint32_t first,
                                              std::uint32_t end, std::uint32_t lanes) {
  using In = typename Op::In;
  typename Op::Partial mine = Op::identity();
  const std::int64_t step = stride * lanes;
  const In* from = in + first * stride;
  std::uint32_t i = first;
  for (; i < end && end - i > (kAtOnce<In> - 1) * lanes; i += kAtOnce<In> * lanes, from += kAtOnce<In> * step) {
    In read[kAtOnce<In>];
#pragma unroll
    for (std::uint32_t k = 0; k < kAtOnce<In>; ++k) read[k] = from[k * step];
#pragma unroll
    for (std::uint32_t k = 0; k < kAtOnce<In>; ++k) mine = Op::combine(mine, Op::lift(read[k], i + k * lanes));
  }
  for (; i < end; i += lanes, from += step) mine = Op::combine(mine, Op::lift(*from, i));
  return mine;
}

template <class Op>
__global__ void __launch_bounds__(kLaneThreads) reduce_kernel(const __grid_constant__ ReduceArgs args) {
  using Partial = typename Op::Partial;
  __shared__ Partial shared[kLaneThreads];
  const Place place(args.lanes);
  const std::uint32_t item = blockIdx.x * args.lanes.slots() + place.slot;
  const bool valid = item < args.results * args.chunks;
  const std::uint32_t result = item % args.results;
  const std::uint32_t chunk = item / args.results;

  Partial mine = Op::identity();
  if (valid) {
    std::int64_t start[1];
    args.kept_index.locate(result, start);
    const auto* in = reinterpret_cast<const typename Op::In*>(args.in) + start[0];
    const std::uint32_t end = min((chunk + 1) * args.chunk, args.reduced);
    const std::uint32_t first = chunk * args.chunk + place.lane;
    if (args.reduced_index.axes <= 1) {
      const std::int64_t stride = args.reduced_index.axes == 1 ? args.reduced_index.strides[0][0] : 0;
      mine = combine_along<Op>(in, stride, first, end, args.lanes.count);
    } else {
      for (std::uint32_t i = first; i < end; i += args.lanes.count) {
        std::int64_t offset[1];
        args.reduced_index.locate(i, offset);
        mine = Op::combine(mine, Op::lift(in[offset[0]], i));
      }
    }
  }
  const Partial whole = combine_lanes(shared, mine, place, args.lanes.count, Op::combine);
  if (!valid || place.lane != 0) return;
  if (args.partials) {
    reinterpret_cast<Partial*>(args.partials)[item] = whole;
  } else {
    reinterpret_cast<typename Op::Out*>(args.out)[result] = Op::finish(whole);
  }
}

struct CombineArgs {
  const char* partials;
  char* out;
  std::uint32_t results;
  std::uint32_t chunks;
  Lanes lanes;
};

template <class Op>
__global__ void __launch_bounds__(kLaneThreads) combine_kernel(const CombineArgs args) {
  using Partial = typename Op::Partial;
  __shared__ Partial shared[kLaneThreads];
  const Place place(args.lanes);
  const std::uint32_t result = blockIdx.x * args.lanes.slots() + place.slot;
  const bool valid = result < args.results;
  Partial mine = Op::identity();
  if (valid) {
    const auto* partials = reinterpret_cast<const Partial*>(args.partials) + result;
    for (std::uint32_t c = place.lane; c < args.chunks; c += args.lanes.count) {
      mine = Op::combine(mine, partials[std::int64_t{c} * args.results]);
    }
  }
  const Partial whole = combine_lanes(shared, mine, place, args.lanes.count, Op::combine);
  if (valid && place.lane == 0) reinterpret_cast<typename Op::Out*>(args.out)[result] = Op::finish(whole);
}

struct Axis {
  std::int64_t size;
  std::int64_t stride;
};

/// Returns the axes without those of size 1, outermost first, neighbors merged if their strides allow.
SmallVector<Axis, 5> merge(const SmallVector<Axis, 5>& axes) {
  SmallVector<Axis, 5> merged;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!merged.empty() && merged.back().stride == axis.stride * axis.size) {
      merged.back() = {merged.back().size * axis.size, axis.stride};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

StridedIndex<1> make_axes_index(const SmallVector<Axis, 5>& axes, const char* op) {
  if (axes.size() > StridedLoop::kMaxAxes) {
    fail<NotImplementedError>("[", op, "] more than ", StridedLoop::kMaxAxes, " axes that cannot be merged");
  }
  StridedIndex<1> index;
  for (const Axis& axis : axes) {
    index.sizes[index.axes] = FastDivide(static_cast<std::uint32_t>(axis.size));
    index.strides[0][index.axes++] = axis.stride;
  }
  return index;
}

/// Returns the smallest distance between elements along one of the axes.
std::int64_t closest(const SmallVector<Axis, 5>& axes) {
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  for (const Axis& axis : axes) step = std::min(step, std::abs(axis.stride));
  return step;
}

/// Returns the largest number of lanes per result. If neighboring threads work on different results, 32 of them read
/// neighboring memory.
std::uint32_t most_lanes(bool neighbors, std::uint32_t results) {
  return neighbors ? kLaneThreads : kLaneThreads / std::min<std::uint32_t>(32, std::bit_ceil(results));
}

std::uint32_t block_count(std::uint32_t items, Lanes lanes) { return (items + lanes.slots() - 1) / lanes.slots(); }

ReduceArgs make_args(const Tensor& x, const Dims& axes, const Tensor& out, const char* op) {
  SmallVector<Axis, 5> kept;
  SmallVector<Axis, 5> reduced;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    (gone ? reduced : kept).push_back({x.shape()[i], x.strides()[i]});
  }
  kept = merge(kept);
  reduced = merge(reduced);
  const std::int64_t results = out.numel();
  const std::int64_t elements = x.numel() / results;
  ReduceArgs args;
  args.in = x->data;
  args.out = out->data;
  args.partials = nullptr;
  args.lanes.neighbors = results == 1 || closest(reduced) < closest(kept);
  const std::uint32_t most = most_lanes(args.lanes.neighbors, static_cast<std::uint32_t>(std::min(results, kMaxPart)));
  const std::int64_t chunk = std::max<std::int64_t>(most * kPerLane, (elements + kMaxChunks - 1) / kMaxChunks);
  const std::int64_t chunks = (elements + chunk - 1) / chunk;
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (elements >= kLimit || results >= kLimit || results * chunks >= kLimit) {
    fail<NotImplementedError>(
        "[", op, "] on ", x.device(),
        " supports fewer than 2**31 elements per result, and fewer than 2**31 results; the shape is ", x.shape());
  }
  args.results = static_cast<std::uint32_t>(results);
  args.reduced = static_cast<std::uint32_t>(elements);
  args.chunk = static_cast<std::uint32_t>(std::min(chunk, elements));
  args.chunks = static_cast<std::uint32_t>(chunks);
  args.lanes.count = lanes_for(args.chunk, most);
  args.kept_index = make_axes_index(kept, op);
  args.reduced_index = make_axes_index(reduced, op);
  return args;
}

template <class Op>
void launch_reduce(ReduceArgs args, Device device, const char* op) {
  const cudaStream_t stream = current_stream(device);
  const std::uint32_t items = args.results * args.chunks;
  Tensor partials;
  if (args.chunks > 1) {
    partials = empty({static_cast<std::int64_t>(items * sizeof(typename Op::Partial))}, DType::UInt8, device);
    args.partials = partials->data;
  }
  launch(op, reduce_kernel<Op>, block_count(items, args.lanes), kLaneThreads, 0, stream, args);
  if (args.chunks == 1) return;
  // The partial results of neighboring results are adjacent.
  const bool neighbors = args.results == 1;
  const Lanes lanes{lanes_for(args.chunks, most_lanes(neighbors, args.results)), neighbors};
  launch(op, combine_kernel<Op>, block_count(args.results, lanes), kLaneThreads, 0, stream,
         {args.partials, args.out, args.results, args.chunks, lanes});
}

/// Computes the norms whose sums of powers are beyond the range of numbers.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    rescale_kernel(const __grid_constant__ ReduceArgs args, const Wide<T>* totals, double p) {
  __shared__ double shared[kLaneThreads];
  const Place place(args.lanes);
  const std::uint32_t result = blockIdx.x * args.lanes.slots() + place.slot;
  const bool lost = result < args.results && is_beyond_range(totals[result]);
  const auto for_each_magnitude = [&](auto&& f) {
    if (!lost) return;
    std::int64_t start[1];
    args.kept_index.locate(result, start);
    const T* const in = reinterpret_cast<const T*>(args.in) + start[0];
    for (std::uint32_t i = place.lane; i < args.reduced; i += args.lanes.count) {
      std::int64_t offset[1];
      args.reduced_index.locate(i, offset);
      f(std::abs(convert<double>(in[offset[0]])));
    }
  };
  ScaledNorm norm(p);
  for_each_magnitude([&](double m) { norm.measure(m); });
  norm.measure(combine_lanes(shared, norm.extreme(), place, args.lanes.count, [&](double a, double b) {
    ScaledNorm both(p);
    both.measure(a);
    both.measure(b);
    return both.extreme();
  }));
  for_each_magnitude([&](double m) { norm.add(m); });
  norm.set_total(
      combine_lanes(shared, norm.total(), place, args.lanes.count, [](double a, double b) { return a + b; }));
  if (lost && place.lane == 0) reinterpret_cast<Wide<T>*>(args.out)[result] = static_cast<Wide<T>>(norm.result());
}

constexpr DTypeSet kOrdered = Real | Boolean;
DTypeSet dtypes_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::Max:
    case Reduction::Min:
    case Reduction::ArgMax:
    case Reduction::ArgMin:
      return kOrdered;
    case Reduction::NanSum:
    case Reduction::SquareSum:
      return Floating;
    default:
      return AnyDType;
  }
}

void rescale_norms(const Tensor& x, const Dims& axes, double p, const Tensor& totals, const Tensor& norms,
                   const char* op) {
  const DeviceGuard guard(x.device());
  const ReduceArgs args = make_args(x, axes, norms, op);
  visit<Floating>(x.dtype(), op, [&]<class T>() {
    launch(op, rescale_kernel<T>, block_count(args.results, args.lanes), kLaneThreads, 0, current_stream(x.device()),
           args, totals.data<Wide<T>>(), p);
  });
}

[[maybe_unused]] const bool kReduceRegistered =
    register_kernel<&DeviceKernels::rescale_norms>(DeviceType::CUDA, rescale_norms);

}  // namespace

void reduce(Reduction reduction, const Tensor& x, const Dims& axes, const Tensor& out, const char* op) {
  if (!dtypes_of(reduction).contains(x.dtype())) no_kernel(op, x.dtype(), x.device());
  const DeviceGuard guard(x.device());
  const ReduceArgs args = make_args(x, axes, out, op);
  const Device device = x.device();
  switch (reduction) {
    case Reduction::Sum:
      return visit<AnyDType>(x.dtype(), op, [&]<class T>() { launch_reduce<SumOf<T>>(args, device, op); });
    case Reduction::Prod:
      return visit<AnyDType>(x.dtype(), op, [&]<class T>() { launch_reduce<ProdOf<T>>(args, device, op); });
    case Reduction::Max:
      return visit<kOrdered>(x.dtype(), op, [&]<class T>() { launch_reduce<ExtremeOf<T, true>>(args, device, op); });
    case Reduction::Min:
      return visit<kOrdered>(x.dtype(), op, [&]<class T>() { launch_reduce<ExtremeOf<T, false>>(args, device, op); });
    case Reduction::Any:
      return visit<AnyDType>(x.dtype(), op, [&]<class T>() { launch_reduce<TruthOf<T, false>>(args, device, op); });
    case Reduction::All:
      return visit<AnyDType>(x.dtype(), op, [&]<class T>() { launch_reduce<TruthOf<T, true>>(args, device, op); });
    case Reduction::ArgMax:
      return visit<kOrdered>(x.dtype(), op, [&]<class T>() { launch_reduce<PositionOf<T, true>>(args, device, op); });
    case Reduction::ArgMin:
      return visit<kOrdered>(x.dtype(), op, [&]<class T>() { launch_reduce<PositionOf<T, false>>(args, device, op); });
    case Reduction::Count:
      return visit<AnyDType>(x.dtype(), op, [&]<class T>() { launch_reduce<CountOf<T>>(args, device, op); });
    case Reduction::NanSum:
      return visit<Floating>(x.dtype(), op, [&]<class T>() { launch_reduce<NanSumOf<T>>(args, device, op); });
    case Reduction::SquareSum:
      return visit<Floating>(x.dtype(), op, [&]<class T>() { launch_reduce<SquareSumOf<T>>(args, device, op); });
  }
}

}  // namespace lamella::cuda
