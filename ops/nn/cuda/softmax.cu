#include "ops/nn/softmax.h"

#include <cmath>
#include <limits>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/held.h"
#include "ops/cuda/rows.h"
#include "ops/simd/convert.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

template <class T>
__device__ T larger(T a, T b) {
  return a != a || a > b ? a : b;
}

/// The type in which rows of elements S are summed.
template <class S>
using Summed = std::conditional_t<kIsHalf<S>, float, S>;

// The largest element is subtracted first: exp never overflows, and the sum is at least 1.
template <class S>
__global__ void __launch_bounds__(kLaneThreads, kHeldBlocks)
    softmax_kernel(const S* x, S* y, std::int64_t rows, std::int64_t width, bool log, Lanes lanes) {
  using T = Summed<S>;
  __shared__ T shared[kLaneThreads];
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  for_each_row(rows, lanes, [&](std::int64_t row, Place place, bool valid) {
    const std::int64_t at = row * width;
    const std::int64_t end = valid ? width : 0;
    const auto load = [&](std::int64_t i) { return convert<T>(x[at + i]); };
    const auto held = hold<T>(place.lane, end, lanes.count, load);
    T top = kLowest;
    held.for_each([&](std::int64_t, T value) { top = larger(top, value); });
    top = combine_lanes(shared, top, place, lanes.count, [](T a, T b) { return larger(a, b); });
    T sum = 0;
    held.for_each([&](std::int64_t, T value) { sum += std::exp(value - top); });
    sum = combine_lanes(shared, sum, place, lanes.count, [](T a, T b) { return a + b; });
    const T shift = std::log(sum);
    const T scale = 1 / sum;
    held.for_each([&](std::int64_t i, T value) {
      y[at + i] = convert<S>(log ? (value - top) - shift : std::exp(value - top) * scale);
    });
  });
}

template <class S>
__global__ void __launch_bounds__(kLaneThreads, kHeldBlocks)
    softmax_backward_kernel(const S* y, const S* dy, S* dx, std::int64_t rows, std::int64_t width, bool log,
                            Lanes lanes) {
  using T = Summed<S>;
  __shared__ T shared[kLaneThreads];
  for_each_row(rows, lanes, [&](std::int64_t row, Place place, bool valid) {
    const std::int64_t at = row * width;
    const std::int64_t end = valid ? width : 0;
    struct Both {
      T y;
      T dy;
    };
    const auto load = [&](std::int64_t i) { return Both{convert<T>(y[at + i]), convert<T>(dy[at + i])}; };
    const auto held = hold<Both, kHeldElements<T>>(place.lane, end, lanes.count, load);
    T sum = 0;
    held.for_each([&](std::int64_t, Both both) { sum += log ? both.dy : both.dy * both.y; });
    sum = combine_lanes(shared, sum, place, lanes.count, [](T a, T b) { return a + b; });
    held.for_each([&](std::int64_t i, Both both) {
      dx[at + i] = convert<S>(log ? both.dy - std::exp(both.y) * sum : both.y * (both.dy - sum));
    });
  });
}

Tensor forward(const Tensor& x, std::size_t axis, bool log) {
  Tensor y = empty_like(x);
  const std::int64_t width = x.shape()[axis];
  const std::int64_t rows = x.numel() / width;
  const RowGrid grid(rows, width);
  const DeviceGuard guard(x.device());
  visit<Floating>(x.dtype(), softmax_name(log), [&]<class T>() {
    launch(softmax_name(log), softmax_kernel<T>, grid.blocks, kLaneThreads, 0, current_stream(x.device()), x.data<T>(),
           y.data<T>(), rows, width, log, grid.lanes);
  });
  return y;
}

Tensor backward(const Tensor& y, const Tensor& dy, std::size_t axis, bool log) {
  Tensor dx = empty_like(y);
  const std::int64_t width = y.shape()[axis];
  const std::int64_t rows = y.numel() / width;
  const RowGrid grid(rows, width);
  const DeviceGuard guard(y.device());
  visit<Floating>(y.dtype(), softmax_name(log), [&]<class T>() {
    launch(softmax_name(log), softmax_backward_kernel<T>, grid.blocks, kLaneThreads, 0, current_stream(y.device()),
           y.data<T>(), dy.data<T>(), dx.data<T>(), rows, width, log, grid.lanes);
  });
  return dx;
}

[[maybe_unused]] const bool kSoftmaxRegistered =
    register_kernel<&DeviceKernels::softmax>(DeviceType::CUDA, forward) &&
    register_kernel<&DeviceKernels::softmax_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
