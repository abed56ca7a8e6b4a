#include "ops/nn/softmax.h"

#include <cmath>
#include <limits>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/lanes.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

/// Calls f(first element of the row, place, true if the row exists) for the rows of this block. All threads make every
/// call.
template <class F>
__device__ void for_each_row(std::int64_t rows, std::int64_t width, Lanes lanes, F&& f) {
  const Place place(lanes);
  const std::int64_t step = std::int64_t{gridDim.x} * lanes.slots();
  for (std::int64_t first = std::int64_t{blockIdx.x} * lanes.slots(); first < rows; first += step) {
    const std::int64_t row = first + place.slot;
    f(row * width, place, row < rows);
  }
}

template <class T>
__device__ T larger(T a, T b) {
  return a != a || a > b ? a : b;
}

// The largest element is subtracted first: exp never overflows, and the sum is at least 1.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    softmax_kernel(const T* x, T* y, std::int64_t rows, std::int64_t width, bool log, Lanes lanes) {
  __shared__ T shared[kLaneThreads];
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  for_each_row(rows, width, lanes, [&](std::int64_t at, Place place, bool valid) {
    const std::int64_t end = valid ? width : 0;
    T top = kLowest;
    for (std::int64_t i = place.lane; i < end; i += lanes.count) top = larger(top, x[at + i]);
    top = combine_lanes(shared, top, place, lanes.count, [](T a, T b) { return larger(a, b); });
    T sum = 0;
    for (std::int64_t i = place.lane; i < end; i += lanes.count) sum += std::exp(x[at + i] - top);
    sum = combine_lanes(shared, sum, place, lanes.count, [](T a, T b) { return a + b; });
    const T shift = std::log(sum);
    const T scale = 1 / sum;
    for (std::int64_t i = place.lane; i < end; i += lanes.count) {
      y[at + i] = log ? (x[at + i] - top) - shift : std::exp(x[at + i] - top) * scale;
    }
  });
}

template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    softmax_backward_kernel(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t width, bool log,
                            Lanes lanes) {
  __shared__ T shared[kLaneThreads];
  for_each_row(rows, width, lanes, [&](std::int64_t at, Place place, bool valid) {
    const std::int64_t end = valid ? width : 0;
    T sum = 0;
    for (std::int64_t i = place.lane; i < end; i += lanes.count) sum += log ? dy[at + i] : dy[at + i] * y[at + i];
    sum = combine_lanes(shared, sum, place, lanes.count, [](T a, T b) { return a + b; });
    for (std::int64_t i = place.lane; i < end; i += lanes.count) {
      dx[at + i] = log ? dy[at + i] - std::exp(y[at + i]) * sum : y[at + i] * (dy[at + i] - sum);
    }
  });
}

struct Grid {
  Lanes lanes;
  unsigned blocks;

  Grid(std::int64_t rows, std::int64_t width) : lanes{lanes_for(width), true} {
    constexpr std::int64_t kMaxBlocks = 1 << 20;
    blocks = static_cast<unsigned>(std::min<std::int64_t>(kMaxBlocks, (rows + lanes.slots() - 1) / lanes.slots()));
  }
};

/// Calls f.operator()<T>() for float32 and float64.
template <class F>
void with_type(Device device, DType dtype, bool log, F&& f) {
  const DeviceGuard guard(device);
  if (dtype == DType::Float32) {
    f.template operator()<float>();
  } else if (dtype == DType::Float64) {
    f.template operator()<double>();
  } else {
    no_kernel(softmax_name(log), dtype, device);
  }
}

Tensor forward(const Tensor& x, std::size_t axis, bool log) {
  Tensor y = empty_like(x);
  const std::int64_t width = x.shape()[axis];
  const std::int64_t rows = x.numel() / width;
  const Grid grid(rows, width);
  with_type(x.device(), x.dtype(), log, [&]<class T>() {
    launch(softmax_name(log), softmax_kernel<T>, grid.blocks, kLaneThreads, 0, current_stream(x.device()), x.data<T>(),
           y.data<T>(), rows, width, log, grid.lanes);
  });
  return y;
}

Tensor backward(const Tensor& y, const Tensor& dy, std::size_t axis, bool log) {
  Tensor dx = empty_like(y);
  const std::int64_t width = y.shape()[axis];
  const std::int64_t rows = y.numel() / width;
  const Grid grid(rows, width);
  with_type(y.device(), y.dtype(), log, [&]<class T>() {
    launch(softmax_name(log), softmax_backward_kernel<T>, grid.blocks, kLaneThreads, 0, current_stream(y.device()),
           y.data<T>(), dy.data<T>(), dx.data<T>(), rows, width, log, grid.lanes);
  });
  return dx;
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::softmax>(DeviceType::CUDA, forward) &&
                                          register_kernel<&DeviceKernels::softmax_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
