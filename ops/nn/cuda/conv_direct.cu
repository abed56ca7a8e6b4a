#include "ops/nn/cuda/conv_direct.h"

#include <cmath>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/rows.h"
#include "ops/cuda/wide_divide.h"
#include "ops/cuda/windows.h"
#include "ops/support/checks.h"

namespace lamella::cuda {
namespace {

using lamella::detail::ConvProblem;
using lamella::detail::ConvResult;

constexpr DTypeSet kTaken = Floating | DTypeSet{DType::UInt64};

/// The sizes of a convolution beside those of its windows.
struct Sizes {
  std::int64_t n;
  std::int64_t groups;
  std::int64_t channels;  ///< of x, per group
  std::int64_t outputs;   ///< channels of y per group
  std::int64_t pixels;
  std::int64_t taps;
  std::int64_t positions;
};

/// Returns sum + a b, rounded once.
template <class Sum, class T>
__device__ Sum plus_product(Sum sum, T a, T b) {
  if constexpr (std::is_integral_v<Sum>) {
    return sum + a * b;
  } else {
    return std::fma(widened<Sum>(a), widened<Sum>(b), sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kGridThreads)
    output_kernel(const __grid_constant__ ImageWindows windows, const __grid_constant__ Sizes sizes, const T* x,
                  const T* w, T* y, const T* bias) {
  for_each_element(sizes.n * sizes.groups * sizes.outputs * sizes.positions, [&](std::int64_t i) {
    const Index3 position(i % sizes.positions, windows.out);
    const std::int64_t output = i / sizes.positions % (sizes.groups * sizes.outputs);
    const std::int64_t plane = i / sizes.positions / sizes.outputs;  // of an example and a group
    const T* const from = x + plane * sizes.channels * sizes.pixels;
    const T* const weights = w + output * sizes.channels * sizes.taps;
    Wide<T> sum = bias ? widened<Wide<T>>(bias[output]) : Wide<T>(0);
    for (std::int64_t c = 0; c < sizes.channels; ++c) {
      for_each_tap(windows, position, [&](std::int64_t tap, std::int64_t pixel) {
        sum = plus_product(sum, weights[c * sizes.taps + tap], from[c * sizes.pixels + pixel]);
      });
    }
    y[i] = rounded<T>(sum);
  });
}

template <class T>
__global__ void __launch_bounds__(kGridThreads)
    input_kernel(const __grid_constant__ ContainingWindows windows, const __grid_constant__ Sizes sizes,
                 ImageWindows::Sizes in, T* x, const T* w, const T* y) {
  for_each_element(sizes.n * sizes.groups * sizes.channels * sizes.pixels, [&](std::int64_t i) {
    const Index3 pixel(i % sizes.pixels, in);
    const std::int64_t channel = i / sizes.pixels % sizes.channels;
    const std::int64_t plane = i / sizes.pixels / sizes.channels;
    const T* const from = y + plane * sizes.outputs * sizes.positions;
    const T* const weights = w + (plane % sizes.groups * sizes.outputs * sizes.channels + channel) * sizes.taps;
    Wide<T> sum = 0;
    for (std::int64_t o = 0; o < sizes.outputs; ++o) {
      windows.for_each(pixel, [&](std::int64_t tap, std::int64_t position) {
        sum = plus_product(sum, weights[o * sizes.channels * sizes.taps + tap], from[o * sizes.positions + position]);
      });
    }
    x[i] = rounded<T>(sum);
  });
}

/// The lanes of an element of w share the positions of all examples.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    weight_kernel(const __grid_constant__ ImageWindows windows, const __grid_constant__ Sizes sizes, const T* x, T* w,
                  const T* y, Lanes lanes) {
  __shared__ Wide<T> shared[kLaneThreads];
  const std::int64_t outputs = sizes.groups * sizes.outputs;
  const std::int64_t terms = sizes.n * sizes.positions;
  for_each_row(outputs * sizes.channels * sizes.taps, lanes, [&](std::int64_t row, Place place, bool valid) {
    const Index3 tap(row % sizes.taps, windows.kernel);
    const std::int64_t channel = row / sizes.taps % sizes.channels;
    const std::int64_t output = row / sizes.taps / sizes.channels;
    const std::int64_t source = output / sizes.outputs * sizes.channels + channel;
    const T* const from = x + source * sizes.pixels;
    const T* const results = y + output * sizes.positions;
    Wide<T> sum = 0;
    Walk at(place.lane, lanes.count, windows.out);
    for (std::int64_t i = valid ? place.lane : terms; i < terms; i += lanes.count, at.advance()) {
      const auto& [pd, ph, pw] = at.position();
      const std::int64_t d = pd * windows.stride[0] - windows.pad[0] + tap.d * windows.dilation[0];
      const std::int64_t h = ph * windows.stride[1] - windows.pad[1] + tap.h * windows.dilation[1];
      const std::int64_t v = pw * windows.stride[2] - windows.pad[2] + tap.w * windows.dilation[2];
      if (d < 0 || d >= windows.in[0] || h < 0 || h >= windows.in[1] || v < 0 || v >= windows.in[2]) continue;
      const std::int64_t position = (pd * windows.out[1] + ph) * windows.out[2] + pw;
      sum = plus_product(sum, results[at.example() * outputs * sizes.positions + position],
                         from[at.example() * sizes.groups * sizes.channels * sizes.pixels +
                              (d * windows.in[1] + h) * windows.in[2] + v]);
    }
    sum = combine_lanes(shared, sum, place, lanes.count, [](Wide<T> a, Wide<T> b) { return a + b; });
    if (valid && place.lane == 0) w[row] = rounded<T>(sum);
  });
}

template <class T>
__global__ void __launch_bounds__(kGridThreads)
    bias_kernel(T* y, const T* bias, std::int64_t count, WideDivide channels, WideDivide positions) {
  for_each_element(count, [&](std::int64_t i) {
    const std::int64_t plane = positions.quotient(i);
    const std::int64_t channel = plane - channels.quotient(plane) * channels.divisor;
    y[i] = rounded<T>(plus(widened<Wide<T>>(y[i]), widened<Wide<T>>(bias[channel])));
  });
}

}  // namespace

void convolve_directly(const ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y,
                       const Tensor& bias, const char* op) {
  if (convolve_depthwise(problem, x, w, y, bias, op)) return;
  const Device device = y.device();
  const cudaStream_t stream = current_stream(device);
  const ImageWindows windows = windows_of(problem);
  const Sizes sizes{.n = problem.n,
                    .groups = problem.groups,
                    .channels = problem.c / problem.groups,
                    .outputs = problem.o / problem.groups,
                    .pixels = windows.pixels(),
                    .taps = windows.taps(),
                    .positions = windows.positions()};
  const DeviceGuard guard(device);
  visit<kTaken>(problem.dtype, op, [&]<class T>() {
    switch (problem.result) {
      case ConvResult::Output:
        return launch(op, output_kernel<T>, grid_blocks(y.numel()), kGridThreads, 0, stream, windows, sizes,
                      x.data<T>(), w.data<T>(), y.data<T>(), bias.defined() ? bias.data<T>() : nullptr);
      case ConvResult::Input:
        return launch(op, input_kernel<T>, grid_blocks(x.numel()), kGridThreads, 0, stream, ContainingWindows(windows),
                      sizes, windows.in, x.data<T>(), w.data<T>(), y.data<T>());
      case ConvResult::Weight: {
        const RowGrid grid(w.numel(), sizes.n * sizes.positions);
        return launch(op, weight_kernel<T>, grid.blocks, kLaneThreads, 0, stream, windows, sizes, x.data<T>(),
                      w.data<T>(), y.data<T>(), grid.lanes);
      }
    }
  });
}

void add_channels(const Tensor& y, const Tensor& bias, std::int64_t positions, const char* op) {
  const DeviceGuard guard(y.device());
  visit<Floating>(y.dtype(), op, [&]<class T>() {
    launch(op, bias_kernel<T>, grid_blocks(y.numel()), kGridThreads, 0, current_stream(y.device()), y.data<T>(),
           bias.data<T>(), y.numel(), WideDivide(bias.numel()), WideDivide(positions));
  });
}

}  // namespace lamella::cuda
