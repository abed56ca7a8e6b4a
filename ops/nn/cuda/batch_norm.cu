#include <algorithm>
#include <cmath>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/fast_divide.h"
#include "ops/cuda/held.h"
#include "ops/cuda/lanes.h"
#include "ops/nn/cuda/moments.h"
#include "ops/nn/norm_columns.h"
#include "ops/support/device_kernels.h"

// A block has a channel, or, where that would leave most of the device idle, a part of one: then a kernel before it
// writes what each part adds to the measures, and each block joins those of its channel.

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr Lanes kBlock{kLaneThreads, true};
/// Channels that keep a device busy by themselves.
constexpr std::int64_t kManyChannels = 512;

/// x [n, channels, size], a channel of which has count = n size elements.
template <class T>
struct ChannelArgs {
  const T* x;
  const T* weight;  // may be null, as the next one
  const T* bias;
  T* means;
  T* rstds;
  std::int64_t channels;
  std::int64_t size;
  std::uint32_t count;
  std::uint32_t part;  // elements of the channel for a block
  FastDivide by_size;

  /// The place in memory of an element of the block's channel.
  __device__ std::int64_t at(std::int64_t i) const {
    const std::uint32_t example = by_size.quotient(static_cast<std::uint32_t>(i));
    return (example * channels + blockIdx.x) * size + (i - example * by_size.divisor);
  }
  /// Returns load(place in memory) for this thread's elements of the block's part.
  template <class E, int kHeld, class Load>
  __device__ HeldElements<E, kHeld, Load> elements(const Load& load) const {
    const std::int64_t begin = std::int64_t{blockIdx.y} * part;
    return {begin + threadIdx.x, min(begin + part, std::int64_t{count}), kLaneThreads, load};
  }
};

/// Joins what the parts of the block's channel wrote; null means that `mine` is all that this thread knows of it.
template <class M, class Join>
__device__ M join_parts(M (&shared)[kLaneThreads], const M* parts, M mine, M none, const Join& join) {
  if (parts) {
    mine = none;
    for (std::uint32_t i = threadIdx.x; i < gridDim.y; i += kLaneThreads)
      mine = join(mine, parts[blockIdx.x * gridDim.y + i]);
  }
  return combine_lanes(shared, mine, Place(kBlock), kLaneThreads, join);
}

template <class T>
__global__ void __launch_bounds__(kLaneThreads, kHeldBlocks)
    measure_kernel(const __grid_constant__ ChannelArgs<T> args, Moments<T>* parts) {
  __shared__ Moments<T> shared[kLaneThreads];
  const auto load = [&](std::int64_t i) { return args.x[args.at(i)]; };
  const Moments<T> mine = moments_of(args.template elements<T, kHeldElements<T>>(load));
  const Moments<T> all = combine_lanes(shared, mine, Place(kBlock), kLaneThreads, joined<T>);
  if (threadIdx.x == 0) parts[blockIdx.x * gridDim.y + blockIdx.y] = all;
}

template <class T>
__global__ void __launch_bounds__(kLaneThreads, kHeldBlocks)
    forward_kernel(const __grid_constant__ ChannelArgs<T> args, const Moments<T>* parts, T* y, T* variances,
                   const double eps) {
  __shared__ Moments<T> shared[kLaneThreads];
  const auto load = [&](std::int64_t i) { return args.x[args.at(i)]; };
  const auto elements = args.template elements<T, kHeldElements<T>>(load);
  const Moments<T> none{0, 0, 0};
  const Moments<T> all = join_parts(shared, parts, parts ? none : moments_of(elements), none, joined<T>);
  const T count = static_cast<T>(args.count);
  const T measured = all.squares / count;
  const auto channel = [&](auto&& f) {
    for (std::uint32_t i = threadIdx.x; i < args.count; i += kLaneThreads) f(load(i));
  };
  const Spread<T> spread = exact_spread({all.mean, measured, 1 / std::sqrt(measured + static_cast<T>(eps))}, shared,
                                        Place(kBlock), kLaneThreads, channel, count, eps, true);
  const T weight = args.weight ? args.weight[blockIdx.x] : T(1);
  const T bias = args.bias ? args.bias[blockIdx.x] : T(0);
  elements.for_each(
      [&](std::int64_t i, T value) { y[args.at(i)] = (value - spread.mean) * spread.rstd * weight + bias; });
  if (threadIdx.x != 0 || blockIdx.y != 0) return;
  args.means[blockIdx.x] = spread.mean;
  args.rstds[blockIdx.x] = spread.rstd;
  variances[blockIdx.x] = spread.variance;
}

template <class T>
struct Sums {
  T slopes;
  T dots;

  __device__ static Sums join(Sums a, Sums b) { return {a.slopes + b.slopes, a.dots + b.dots}; }
};

/// An element of dy, and the normalized one of x.
template <class T>
struct Slope {
  T dy;
  T normal;

  template <int kHeld, class Load>
  __device__ static Sums<T> sums_of(const HeldElements<Slope, kHeld, Load>& elements) {
    Sums<T> sums{0, 0};
    elements.for_each([&](std::int64_t, Slope slope) {
      sums.slopes += slope.dy;
      sums.dots += slope.dy * slope.normal;
    });
    return sums;
  }
};

/// Loads the elements of the block's channel.
template <class T>
struct SlopesOfChannel {
  const ChannelArgs<T>& args;
  const T* dy;
  T mean;
  T rstd;

  __device__ Slope<T> operator()(std::int64_t i) const {
    const std::int64_t at = args.at(i);
    return {dy[at], (args.x[at] - mean) * rstd};
  }
};

template <class T>
__global__ void __launch_bounds__(kLaneThreads, kHeldBlocks)
    sums_kernel(const __grid_constant__ ChannelArgs<T> args, const T* dy, Sums<T>* parts) {
  __shared__ Sums<T> shared[kLaneThreads];
  const SlopesOfChannel<T> load{args, dy, args.means[blockIdx.x], args.rstds[blockIdx.x]};
  const Sums<T> mine = Slope<T>::sums_of(args.template elements<Slope<T>, kHeldElements<T>>(load));
  const Sums<T> all = combine_lanes(shared, mine, Place(kBlock), kLaneThreads, Sums<T>::join);
  if (threadIdx.x == 0) parts[blockIdx.x * gridDim.y + blockIdx.y] = all;
}

/// Computes dx = rstd weight (dy - mean(dy) - h mean(dy h)), with h = (x - mean) rstd, and the sums.
template <class T>
__global__ void __launch_bounds__(kLaneThreads, kHeldBlocks)
    backward_kernel(const __grid_constant__ ChannelArgs<T> args, const Sums<T>* parts, const T* dy, T* dx, T* dweight,
                    T* dbias) {
  __shared__ Sums<T> shared[kLaneThreads];
  const SlopesOfChannel<T> load{args, dy, args.means[blockIdx.x], args.rstds[blockIdx.x]};
  const auto elements = args.template elements<Slope<T>, kHeldElements<T>>(load);
  const Sums<T> none{0, 0};
  const Sums<T> all = join_parts(shared, parts, parts ? none : Slope<T>::sums_of(elements), none, Sums<T>::join);
  const T factor = load.rstd * (args.weight ? args.weight[blockIdx.x] : T(1));
  const T slope = all.slopes / static_cast<T>(args.count);
  const T dot = all.dots / static_cast<T>(args.count);
  elements.for_each([&](std::int64_t i, Slope<T> of) { dx[args.at(i)] = factor * (of.dy - slope - of.normal * dot); });
  if (threadIdx.x != 0 || blockIdx.y != 0) return;
  if (dweight) dweight[blockIdx.x] = all.dots;
  if (dbias) dbias[blockIdx.x] = all.slopes;
}

template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

/// Elements of a channel for a block: as many as its threads hold, but at most kLaneThreads parts.
template <class T>
std::uint32_t part_of(const Tensor& x) {
  const std::int64_t count = x.size(0) * x.size(3);
  if (x.size(1) >= kManyChannels) return static_cast<std::uint32_t>(count);
  constexpr std::int64_t kHeld = std::int64_t{kLaneThreads} * kHeldElements<T>;
  return static_cast<std::uint32_t>(std::max(kHeld, (count + kLaneThreads - 1) / kLaneThreads));
}

template <class T>
dim3 blocks_of(const ChannelArgs<T>& args) {
  return dim3(static_cast<unsigned>(args.channels), (args.count + args.part - 1) / args.part);
}

/// Memory for a value of each part of each channel, if there are several.
template <class M>
Tensor parts_of(dim3 blocks, const Tensor& x) {
  if (blocks.y == 1) return Tensor();
  return empty({static_cast<std::int64_t>(sizeof(M)) * blocks.x * blocks.y}, DType::UInt8, x.device());
}

template <class T>
ChannelArgs<T> args_of(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormMeasures& measures) {
  return {.x = x.data<T>(),
          .weight = data_or_null<T>(weight),
          .bias = data_or_null<T>(bias),
          .means = measures.mean.data<T>(),
          .rstds = measures.rstd.data<T>(),
          .channels = x.size(1),
          .size = x.size(3),
          .count = static_cast<std::uint32_t>(x.size(0) * x.size(3)),
          .part = part_of<T>(x),
          .by_size = FastDivide(static_cast<std::uint32_t>(x.size(3)))};
}

Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormSetting& setting,
               NormMeasures& measures, BatchStatistics* statistics) {
  const Device device = x.device();
  const Dims channels{x.size(1)};
  const DeviceGuard guard(device);
  Tensor y = empty_like(x);
  measures = {empty(channels, x.dtype(), device), empty(channels, x.dtype(), device)};
  const Tensor variances = empty(channels, x.dtype(), device);
  visit<kTaken>(x.dtype(), setting.op, [&]<class T>() {
    const ChannelArgs<T> args = args_of<T>(x, weight, bias, measures);
    const dim3 blocks = blocks_of(args);
    const cudaStream_t stream = current_stream(device);
    const Tensor memory = parts_of<Moments<T>>(blocks, x);
    auto* const parts = memory.defined() ? static_cast<Moments<T>*>(memory.raw_data()) : nullptr;
    if (parts) launch(setting.op, measure_kernel<T>, blocks, kLaneThreads, 0, stream, args, parts);
    launch(setting.op, forward_kernel<T>, blocks, kLaneThreads, 0, stream, args, parts, y.data<T>(),
           variances.data<T>(), setting.eps);
  });
  if (statistics) *statistics = {measures.mean, variances};
  return y;
}

NormGrads backward(const Tensor& x, const Tensor& weight, const Tensor& dy, const NormMeasures& measures,
                   const NormSetting& setting, const Dims& shape, bool want_weight, bool want_bias) {
  const Device device = x.device();
  const DeviceGuard guard(device);
  NormGrads grads;
  grads.x = empty_like(x);
  if (want_weight) grads.weight = empty(shape, x.dtype(), device);
  if (want_bias) grads.bias = empty(shape, x.dtype(), device);
  visit<kTaken>(x.dtype(), setting.op, [&]<class T>() {
    const ChannelArgs<T> args = args_of<T>(x, weight, Tensor(), measures);
    const dim3 blocks = blocks_of(args);
    const cudaStream_t stream = current_stream(device);
    const Tensor memory = parts_of<Sums<T>>(blocks, x);
    auto* const parts = memory.defined() ? static_cast<Sums<T>*>(memory.raw_data()) : nullptr;
    if (parts) launch(setting.op, sums_kernel<T>, blocks, kLaneThreads, 0, stream, args, dy.data<T>(), parts);
    launch(setting.op, backward_kernel<T>, blocks, kLaneThreads, 0, stream, args, parts, dy.data<T>(),
           grads.x.data<T>(), data_or_null<T>(grads.weight), data_or_null<T>(grads.bias));
  });
  return grads;
}

[[maybe_unused]] const bool kBatchNormRegistered =
    register_kernel<&DeviceKernels::normalize_batch>(DeviceType::CUDA, forward) &&
    register_kernel<&DeviceKernels::normalize_batch_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
