#include <cmath>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/fast_divide.h"
#include "ops/cuda/lanes.h"
#include "ops/nn/cuda/moments.h"
#include "ops/nn/norm_columns.h"
#include "ops/support/device_kernels.h"

// A block has a channel, whose elements it reads twice: for the measures, and for the result.

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr Lanes kBlock{kLaneThreads, true};

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
  FastDivide by_size;

  /// Calls f(place in memory) for this thread's elements of the block's channel.
  template <class F>
  __device__ void for_each(F&& f) const {
    for (std::uint32_t i = threadIdx.x; i < count; i += kLaneThreads) {
      const std::uint32_t example = by_size.quotient(i);
      f((example * channels + blockIdx.x) * size + (i - example * by_size.divisor));
    }
  }
};

template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    forward_kernel(const __grid_constant__ ChannelArgs<T> args, T* y, T* variances, const double eps) {
  __shared__ Moments<T> shared[kLaneThreads];
  const auto elements = [&](auto&& f) { args.for_each([&](std::int64_t at) { f(args.x[at]); }); };
  const Spread<T> spread = spread_of(shared, Place(kBlock), kLaneThreads, elements, static_cast<T>(args.count), eps);
  const T weight = args.weight ? args.weight[blockIdx.x] : T(1);
  const T bias = args.bias ? args.bias[blockIdx.x] : T(0);
  args.for_each([&](std::int64_t at) { y[at] = (args.x[at] - spread.mean) * spread.rstd * weight + bias; });
  if (threadIdx.x != 0) return;
  args.means[blockIdx.x] = spread.mean;
  args.rstds[blockIdx.x] = spread.rstd;
  variances[blockIdx.x] = spread.variance;
}

template <class T>
struct Sums {
  T slopes;
  T dots;
};

/// Computes dx = rstd weight (dy - mean(dy) - h mean(dy h)), with h = (x - mean) rstd, and the sums.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    backward_kernel(const __grid_constant__ ChannelArgs<T> args, const T* dy, T* dx, T* dweight, T* dbias) {
  __shared__ Sums<T> shared[kLaneThreads];
  const T mean = args.means[blockIdx.x];
  const T rstd = args.rstds[blockIdx.x];
  const auto normal = [&](std::int64_t at) { return (args.x[at] - mean) * rstd; };
  Sums<T> mine{0, 0};
  args.for_each([&](std::int64_t at) {
    mine.slopes += dy[at];
    mine.dots += dy[at] * normal(at);
  });
  const Sums<T> all = combine_lanes(shared, mine, Place(kBlock), kLaneThreads,
                                    [](Sums<T> a, Sums<T> b) { return Sums<T>{a.slopes + b.slopes, a.dots + b.dots}; });
  const T factor = rstd * (args.weight ? args.weight[blockIdx.x] : T(1));
  const T slope = all.slopes / static_cast<T>(args.count);
  const T dot = all.dots / static_cast<T>(args.count);
  args.for_each([&](std::int64_t at) { dx[at] = factor * (dy[at] - slope - normal(at) * dot); });
  if (threadIdx.x != 0) return;
  if (dweight) dweight[blockIdx.x] = all.dots;
  if (dbias) dbias[blockIdx.x] = all.slopes;
}

template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
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
    launch(setting.op, forward_kernel<T>, static_cast<unsigned>(x.size(1)), kLaneThreads, 0, current_stream(device),
           args_of<T>(x, weight, bias, measures), y.data<T>(), variances.data<T>(), setting.eps);
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
    launch(setting.op, backward_kernel<T>, static_cast<unsigned>(x.size(1)), kLaneThreads, 0, current_stream(device),
           args_of<T>(x, weight, Tensor(), measures), dy.data<T>(), grads.x.data<T>(), data_or_null<T>(grads.weight),
           data_or_null<T>(grads.bias));
  });
  return grads;
}

[[maybe_unused]] const bool kBatchNormRegistered =
    register_kernel<&DeviceKernels::normalize_batch>(DeviceType::CUDA, forward) &&
    register_kernel<&DeviceKernels::normalize_batch_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
