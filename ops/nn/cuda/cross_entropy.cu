#include <cmath>
#include <limits>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/rows.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};

/// Computes the term of each row, and its largest element and the sum of exp(x - largest) as `powers`. Rows of a
/// negative class are not read; their results are 0.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    forward_kernel(const T* x, const std::int64_t* numbers, T* terms, T* powers, std::int64_t rows, std::int64_t width,
                   T smoothing, Lanes lanes) {
  __shared__ T shared[kLaneThreads];
  for_each_row(rows, lanes, [&](std::int64_t row, Place place, bool valid) {
    const std::int64_t number = valid ? numbers[row] : -1;
    const std::int64_t end = number >= 0 ? width : 0;
    const T* const from = x + row * width;
    T top = -std::numeric_limits<T>::infinity();
    for (std::int64_t i = place.lane; i < end; i += lanes.count) top = top != top || top > from[i] ? top : from[i];
    top = combine_lanes(shared, top, place, lanes.count, [](T a, T b) { return a != a || a > b ? a : b; });
    T sum = 0;
    T differences = 0;
    for (std::int64_t i = place.lane; i < end; i += lanes.count) {
      sum += std::exp(from[i] - top);
      differences += from[i] - top;
    }
    const auto add = [](T a, T b) { return a + b; };
    sum = combine_lanes(shared, sum, place, lanes.count, add);
    if (smoothing != 0) differences = combine_lanes(shared, differences, place, lanes.count, add);
    if (!valid || place.lane != 0) return;
    const T log_sum = std::log(sum);
    T term = number >= 0 ? log_sum - (from[number] - top) : 0;
    if (smoothing != 0 && number >= 0)
      term = term * (1 - smoothing) + (log_sum - differences / static_cast<T>(width)) * smoothing;
    terms[row] = term;
    powers[2 * row] = number >= 0 ? top : 0;
    powers[2 * row + 1] = number >= 0 ? sum : 0;
  });
}

/// Computes dx = dterm (exp(x - top) / sum - share of the class).
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    backward_kernel(const T* x, const std::int64_t* numbers, const T* powers, const T* dterms, T* dx, std::int64_t rows,
                    std::int64_t width, T smoothing, Lanes lanes) {
  for_each_row(rows, lanes, [&](std::int64_t row, Place place, bool valid) {
    if (!valid) return;
    const std::int64_t number = numbers[row];
    const T dterm = dterms[row];
    const T scale = dterm / powers[2 * row + 1];
    const T even = dterm * (smoothing / static_cast<T>(width));
    for (std::int64_t i = place.lane; i < width; i += lanes.count) {
      T d = 0;
      if (number >= 0) {
        d = std::exp(x[row * width + i] - powers[2 * row]) * scale - even;
        if (i == number) d -= dterm * (1 - smoothing);
      }
      dx[row * width + i] = d;
    }
  });
}

std::pair<Tensor, Tensor> forward(const Tensor& x, const Tensor& numbers, double smoothing) {
  const Device device = x.device();
  const std::int64_t rows = x.shape()[0];
  const std::int64_t width = x.shape()[1];
  std::pair<Tensor, Tensor> made{empty({rows}, x.dtype(), device), empty({rows, 2}, x.dtype(), device)};
  if (rows == 0) return made;
  const RowGrid grid(rows, width);
  const DeviceGuard guard(device);
  visit<kTaken>(x.dtype(), "cross_entropy", [&]<class T>() {
    launch("cross_entropy", forward_kernel<T>, grid.blocks, kLaneThreads, 0, current_stream(device), x.data<T>(),
           numbers.data<std::int64_t>(), made.first.data<T>(), made.second.data<T>(), rows, width,
           static_cast<T>(smoothing), grid.lanes);
  });
  return made;
}

Tensor backward(const Tensor& x, const Tensor& numbers, double smoothing, const Tensor& powers, const Tensor& dterms) {
  const Device device = x.device();
  const std::int64_t rows = x.shape()[0];
  const std::int64_t width = x.shape()[1];
  Tensor dx = empty_like(x);
  if (dx.numel() == 0) return dx;
  const RowGrid grid(rows, width);
  const DeviceGuard guard(device);
  visit<kTaken>(x.dtype(), "cross_entropy", [&]<class T>() {
    launch("cross_entropy", backward_kernel<T>, grid.blocks, kLaneThreads, 0, current_stream(device), x.data<T>(),
           numbers.data<std::int64_t>(), powers.data<T>(), dterms.data<T>(), dx.data<T>(), rows, width,
           static_cast<T>(smoothing), grid.lanes);
  });
  return dx;
}

[[maybe_unused]] const bool kCrossEntropyRegistered =
    register_kernel<&DeviceKernels::cross_entropy>(DeviceType::CUDA, forward) &&
    register_kernel<&DeviceKernels::cross_entropy_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
