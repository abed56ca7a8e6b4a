#include "ops/nn/cuda/norm.h"

#include <algorithm>
#include <cmath>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/held.h"
#include "ops/cuda/rows.h"
#include "ops/nn/cuda/moments.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr std::uint32_t kColumns = 32;   // per block, for sums over the rows
constexpr std::int64_t kPartRows = 512;  // rows that a block adds, unless that gives too many parts
constexpr std::int64_t kMostParts = 1024;

template <class T>
struct Add {
  __device__ T operator()(T a, T b) const { return a + b; }
};

/// Computes y = (x - mean) / sqrt(variance + eps) * weight + bias for each row; without `centered` the mean is 0. The
/// means are followed by what their rounding leaves, which counts where they are large beside the deviations.
template <class T>
__global__ void __launch_bounds__(kLaneThreads, kHeldBlocks)
    forward_kernel(const T* x, const T* weight, const T* bias, T* y, T* means, T* rstds, std::int64_t rows,
                   std::int64_t width, double eps, bool centered, Lanes lanes) {
  __shared__ T shared[kLaneThreads];
  __shared__ Moments<T> shared_moments[kLaneThreads];
  for_each_row(rows, lanes, [&](std::int64_t row, Place place, bool valid) {
    const std::int64_t end = valid ? width : 0;
    const T* const from = x + row * width;
    const auto load = [from](std::int64_t i) { return from[i]; };
    const auto held = hold<T>(place.lane, end, lanes.count, load);
    T mean = 0;
    if (centered) {
      held.for_each([&](std::int64_t, T value) { mean += value; });
      mean = combine_lanes(shared, mean, place, lanes.count, Add<T>()) / static_cast<T>(width);
      if (!std::isfinite(mean)) mean = valid ? from[0] : T(0);  // their sum is beyond the range
    }
    T squares = 0;
    T rest = 0;
    held.for_each([&](std::int64_t, T value) {
      const T apart = value - mean;
      squares += apart * apart;
      rest += apart;
    });
    squares = combine_lanes(shared, squares, place, lanes.count, Add<T>()) / static_cast<T>(width);
    rest = centered ? combine_lanes(shared, rest, place, lanes.count, Add<T>()) / static_cast<T>(width) : T(0);
    const T about_mean = squares - rest * rest;  // no number, and so measured anew, if both are infinite
    const T variance = about_mean < 0 ? T(0) : about_mean;
    const Spread<T> measured{rest, variance, 1 / std::sqrt(variance + static_cast<T>(eps))};
    const auto elements = [&](auto&& f) {
      for (std::int64_t i = place.lane; i < end; i += lanes.count) f(from[i] - mean);
    };
    const Spread<T> spread =
        exact_spread(measured, shared_moments, place, lanes.count, elements, static_cast<T>(width), eps, centered);
    held.for_each([&](std::int64_t i, T value) {
      const T normal = (value - mean - spread.mean) * spread.rstd;
      y[row * width + i] = normal * (weight ? weight[i] : T(1)) + (bias ? bias[i] : T(0));
    });
    if (valid && place.lane == 0) {
      means[row] = mean;
      means[rows + row] = spread.mean;
      rstds[row] = spread.rstd;
    }
  });
}

/// Computes dx = rstd (g - mean(g) - h mean(g h)) for each row, with g = dy weight and h = (x - mean) rstd; without
/// `centered` the term mean(g) is left out.
template <class T>
__global__ void __launch_bounds__(kLaneThreads, kHeldBlocks)
    backward_kernel(const T* x, const T* weight, const T* dy, const T* means, const T* rstds, T* dx, std::int64_t rows,
                    std::int64_t width, bool centered, Lanes lanes) {
  __shared__ T shared[kLaneThreads];
  for_each_row(rows, lanes, [&](std::int64_t row, Place place, bool valid) {
    const std::int64_t end = valid ? width : 0;
    const T mean = valid ? means[row] : 0;
    const T rest = valid ? means[rows + row] : 0;
    const T rstd = valid ? rstds[row] : 0;
    struct Both {
      T slope;
      T normal;
    };
    const auto load = [&](std::int64_t i) {
      return Both{dy[row * width + i] * (weight ? weight[i] : T(1)), (x[row * width + i] - mean - rest) * rstd};
    };
    const auto held = hold<Both, kHeldElements<T>>(place.lane, end, lanes.count, load);
    T sum = 0;
    T dot = 0;
    held.for_each([&](std::int64_t, Both both) {
      sum += both.slope;
      dot += both.slope * both.normal;
    });
    sum = combine_lanes(shared, sum, place, lanes.count, Add<T>()) / static_cast<T>(width);
    dot = combine_lanes(shared, dot, place, lanes.count, Add<T>()) / static_cast<T>(width);
    held.for_each([&](std::int64_t i, Both both) {
      dx[row * width + i] = (both.slope - (centered ? sum : T(0)) - both.normal * dot) * rstd;
    });
  });
}

/// Sums dy, and dy times the normalized x, over a part of the rows: of the gradients of bias and weight, either of
/// which may be null.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    columns_kernel(const T* x, const T* dy, const T* means, const T* rstds, T* dweight, T* dbias, std::int64_t rows,
                   std::int64_t part_rows, std::int64_t width, Lanes lanes) {
  __shared__ T shared[kLaneThreads];
  const Place place(lanes);
  const std::int64_t column = std::int64_t{blockIdx.x} * kColumns + place.slot;
  const std::int64_t first = blockIdx.y * part_rows;
  const std::int64_t end = min(first + part_rows, rows);
  const bool valid = column < width;
  T sum = 0;
  T dot = 0;
  for (std::int64_t row = valid ? first + place.lane : end; row < end; row += lanes.count) {
    const T slope = dy[row * width + column];
    sum += slope;
    dot += slope * (x[row * width + column] - means[row] - means[rows + row]) * rstds[row];
  }
  sum = combine_lanes(shared, sum, place, lanes.count, Add<T>());
  dot = combine_lanes(shared, dot, place, lanes.count, Add<T>());
  if (!valid || place.lane != 0) return;
  if (dweight) dweight[blockIdx.y * width + column] = dot;
  if (dbias) dbias[blockIdx.y * width + column] = sum;
}

/// Adds the parts of the gradients of weight and bias, either of which may be null.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    parts_kernel(const T* weight_parts, const T* bias_parts, T* dweight, T* dbias, std::int64_t parts,
                 std::int64_t width, Lanes lanes) {
  __shared__ T shared[kLaneThreads];
  const Place place(lanes);
  const std::int64_t column = std::int64_t{blockIdx.x} * kColumns + place.slot;
  const bool valid = column < width;
  const auto add = [&](const T* from, T* to) {
    if (!to) return;
    T sum = 0;
    for (std::int64_t part = valid ? place.lane : parts; part < parts; part += lanes.count)
      sum += from[part * width + column];
    sum = combine_lanes(shared, sum, place, lanes.count, Add<T>());
    if (valid && place.lane == 0) to[column] = sum;
  };
  add(weight_parts, dweight);
  add(bias_parts, dbias);
}

template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormSetting& setting,
               NormMeasures& measures) {
  if (setting.over == NormOver::Groups) return normalize_groups(x, weight, bias, setting, measures);
  const Device device = x.device();
  const std::int64_t width = x.shape().back();
  const std::int64_t rows = x.numel() / width;
  Tensor y = empty_like(x);
  measures = {empty({2, rows}, x.dtype(), device), empty({rows}, x.dtype(), device)};
  const RowGrid grid(rows, width);
  const DeviceGuard guard(device);
  visit<kTaken>(x.dtype(), setting.op, [&]<class T>() {
    launch(setting.op, forward_kernel<T>, grid.blocks, kLaneThreads, 0, current_stream(device), x.data<T>(),
           data_or_null<T>(weight), data_or_null<T>(bias), y.data<T>(), measures.mean.data<T>(),
           measures.rstd.data<T>(), rows, width, setting.eps, setting.centered, grid.lanes);
  });
  return y;
}

NormGrads backward(const Tensor& x, const Tensor& weight, const Tensor& dy, const NormMeasures& measures,
                   const NormSetting& setting, bool want_weight, bool want_bias) {
  if (setting.over == NormOver::Groups)
    return normalize_groups_gradient(x, weight, dy, measures, setting, want_weight, want_bias);
  const Device device = x.device();
  const cudaStream_t stream = current_stream(device);
  const std::int64_t width = x.shape().back();
  const std::int64_t rows = x.numel() / width;
  NormGrads grads;
  grads.x = empty_like(x);
  if (want_weight) grads.weight = empty({width}, x.dtype(), device);
  if (want_bias) grads.bias = empty({width}, x.dtype(), device);
  // Few blocks would add many rows: each adds a part of them, in a number of parts that the shape determines.
  const std::int64_t part_rows = std::max(kPartRows, (rows + kMostParts - 1) / kMostParts);
  const std::int64_t parts = (rows + part_rows - 1) / part_rows;
  const auto parts_of = [&](const Tensor& sums) {
    return parts > 1 && sums.defined() ? empty({parts, width}, x.dtype(), device) : sums;
  };
  const Tensor weight_parts = parts_of(grads.weight);
  const Tensor bias_parts = parts_of(grads.bias);
  const RowGrid grid(rows, width);
  const DeviceGuard guard(device);
  visit<kTaken>(x.dtype(), setting.op, [&]<class T>() {
    const T* const means = measures.mean.data<T>();
    const T* const rstds = measures.rstd.data<T>();
    launch(setting.op, backward_kernel<T>, grid.blocks, kLaneThreads, 0, stream, x.data<T>(), data_or_null<T>(weight),
           dy.data<T>(), means, rstds, grads.x.data<T>(), rows, width, setting.centered, grid.lanes);
    if (!want_weight && !want_bias) return;
    const Lanes lanes{kLaneThreads / kColumns, false};
    const auto across = static_cast<unsigned>((width + kColumns - 1) / kColumns);
    launch(setting.op, columns_kernel<T>, dim3(across, static_cast<unsigned>(parts)), kLaneThreads, 0, stream,
           x.data<T>(), dy.data<T>(), means, rstds, data_or_null<T>(weight_parts), data_or_null<T>(bias_parts), rows,
           part_rows, width, lanes);
    if (parts == 1) return;
    launch(setting.op, parts_kernel<T>, across, kLaneThreads, 0, stream, data_or_null<T>(weight_parts),
           data_or_null<T>(bias_parts), data_or_null<T>(grads.weight), data_or_null<T>(grads.bias), parts, width,
           lanes);
  });
  return grads;
}

[[maybe_unused]] const bool kNormRegistered =
    register_kernel<&DeviceKernels::normalize_rows>(DeviceType::CUDA, forward) &&
    register_kernel<&DeviceKernels::normalize_rows_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
