#include "ops/nn/cuda/norm.h"

#include <cmath>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/fast_divide.h"
#include "ops/cuda/rows.h"
#include "ops/nn/cuda/moments.h"

// A group is a row of its channels' planes, which is read twice: for the measures, and for the result. Of a gradient,
// sums over the planes come first: the sums for groups and those for channels are both made of them.

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr std::uint32_t kColumns = 32;  // per block, for sums over the examples

/// Rows of `members` planes of `size` elements each; weight and bias have a number for each channel.
struct Groups {
  std::int64_t rows;
  std::int64_t groups;  // per example
  std::uint32_t members;
  std::uint32_t width;
  FastDivide by_size;

  explicit Groups(const Tensor& x)
      : rows(x.size(0) * x.size(1)),
        groups(x.size(1)),
        members(static_cast<std::uint32_t>(x.size(2))),
        width(static_cast<std::uint32_t>(x.size(2) * x.size(3))),
        by_size(static_cast<std::uint32_t>(x.size(3))) {}

  /// Returns the number of a row's first channel.
  __device__ std::int64_t first_channel(std::int64_t row) const { return row % groups * members; }
};

/// A row's mean, in two parts, and 1 / sqrt(variance + eps). The first part is an element of the row: differences from
/// it have the digits of the deviations even where these are small beside the mean.
template <class T>
struct Measure {
  T origin;
  T rest;
  T rstd;

  __device__ T normal(T x) const { return (x - origin - rest) * rstd; }
};

/// The measures of all rows, one part after the other.
template <class T>
struct Measures {
  T* means;
  T* rstds;
  std::int64_t rows;

  __device__ Measure<T> of(std::int64_t row) const { return {means[row], means[rows + row], rstds[row]}; }
  __device__ void set(std::int64_t row, Measure<T> measure) const {
    means[row] = measure.origin;
    means[rows + row] = measure.rest;
    rstds[row] = measure.rstd;
  }
};

template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    forward_kernel(const __grid_constant__ Groups groups, const T* x, const T* weight, const T* bias, T* y,
                   Measures<T> measures, double eps, Lanes lanes) {
  __shared__ Moments<T> shared[kLaneThreads];
  for_each_row(groups.rows, lanes, [&](std::int64_t row, Place place, bool valid) {
    const std::uint32_t end = valid ? groups.width : 0;
    const T* const from = x + row * groups.width;
    const T origin = valid ? from[0] : T(0);
    const auto elements = [&](auto&& f) {
      for (std::uint32_t i = place.lane; i < end; i += lanes.count) f(from[i] - origin);
    };
    const Spread<T> spread = spread_of(shared, place, lanes.count, elements, static_cast<T>(groups.width), eps);
    const Measure<T> measure{origin, spread.mean, spread.rstd};
    const std::int64_t channel = groups.first_channel(row);
    for (std::uint32_t i = place.lane; i < end; i += lanes.count) {
      const std::int64_t at = channel + groups.by_size.quotient(i);
      y[row * groups.width + i] = measure.normal(from[i]) * (weight ? weight[at] : T(1)) + (bias ? bias[at] : T(0));
    }
    if (valid && place.lane == 0) measures.set(row, measure);
  });
}

/// Sums of dy, and of dy times the normalized x.
template <class T>
struct Sums {
  T slopes;
  T dots;

  __device__ friend Sums operator+(Sums a, Sums b) { return {a.slopes + b.slopes, a.dots + b.dots}; }
};
template <class T>
struct AddSums {
  __device__ Sums<T> operator()(Sums<T> a, Sums<T> b) const { return a + b; }
};

/// Writes the sums of each plane.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    planes_kernel(const __grid_constant__ Groups groups, const T* x, const T* dy, Measures<T> measures, Sums<T>* sums,
                  Lanes lanes) {
  __shared__ Sums<T> shared[kLaneThreads];
  const std::uint32_t size = groups.by_size.divisor;
  for_each_row(groups.rows * groups.members, lanes, [&](std::int64_t plane, Place place, bool valid) {
    const std::uint32_t end = valid ? size : 0;
    const Measure<T> measure = valid ? measures.of(plane / groups.members) : Measure<T>{0, 0, 0};
    Sums<T> mine{0, 0};
    for (std::uint32_t i = place.lane; i < end; i += lanes.count) {
      const T slope = dy[plane * size + i];
      mine = mine + Sums<T>{slope, slope * measure.normal(x[plane * size + i])};
    }
    const Sums<T> all = combine_lanes(shared, mine, place, lanes.count, AddSums<T>());
    if (valid && place.lane == 0) sums[plane] = all;
  });
}

/// Computes dx = rstd (g - mean(g) - h mean(g h)) for each row, with g = dy weight and h = (x - mean) rstd.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    backward_kernel(const __grid_constant__ Groups groups, const T* x, const T* weight, const T* dy,
                    Measures<T> measures, const Sums<T>* sums, T* dx, Lanes lanes) {
  __shared__ Sums<T> shared[kLaneThreads];
  for_each_row(groups.rows, lanes, [&](std::int64_t row, Place place, bool valid) {
    const std::int64_t channel = groups.first_channel(row);
    const auto weight_at = [&](std::uint32_t member) { return weight ? weight[channel + member] : T(1); };
    Sums<T> mine{0, 0};
    for (std::uint32_t member = place.lane; member < (valid ? groups.members : 0); member += lanes.count) {
      const Sums<T> of_plane = sums[row * groups.members + member];
      mine = mine + Sums<T>{of_plane.slopes * weight_at(member), of_plane.dots * weight_at(member)};
    }
    const Sums<T> all = combine_lanes(shared, mine, place, lanes.count, AddSums<T>());
    const T slope = all.slopes / static_cast<T>(groups.width);
    const T dot = all.dots / static_cast<T>(groups.width);
    const Measure<T> measure = valid ? measures.of(row) : Measure<T>{0, 0, 0};
    for (std::uint32_t i = place.lane; i < (valid ? groups.width : 0); i += lanes.count) {
      const std::int64_t at = row * groups.width + i;
      const T g = dy[at] * weight_at(groups.by_size.quotient(i));
      dx[at] = (g - slope - measure.normal(x[at]) * dot) * measure.rstd;
    }
  });
}

/// Adds the planes' sums over the examples: the gradients of weight and bias, either of which may be null.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    channels_kernel(const Sums<T>* sums, T* dweight, T* dbias, std::int64_t examples, std::int64_t channels,
                    Lanes lanes) {
  __shared__ Sums<T> shared[kLaneThreads];
  const Place place(lanes);
  const std::int64_t channel = std::int64_t{blockIdx.x} * kColumns + place.slot;
  const bool valid = channel < channels;
  Sums<T> mine{0, 0};
  for (std::int64_t example = valid ? place.lane : examples; example < examples; example += lanes.count)
    mine = mine + sums[example * channels + channel];
  const Sums<T> all = combine_lanes(shared, mine, place, lanes.count, AddSums<T>());
  if (!valid || place.lane != 0) return;
  if (dweight) dweight[channel] = all.dots;
  if (dbias) dbias[channel] = all.slopes;
}

template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

template <class T>
Measures<T> parts_of(const NormMeasures& measures) {
  return {measures.mean.data<T>(), measures.rstd.data<T>(), measures.rstd.numel()};
}

}  // namespace

Tensor normalize_groups(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormSetting& setting,
                        NormMeasures& measures) {
  const Device device = x.device();
  const Groups groups(x);
  Tensor y = empty_like(x);
  measures = {empty({2, groups.rows}, x.dtype(), device), empty({groups.rows}, x.dtype(), device)};
  const RowGrid grid(groups.rows, groups.width);
  const DeviceGuard guard(device);
  visit<kTaken>(x.dtype(), setting.op, [&]<class T>() {
    launch(setting.op, forward_kernel<T>, grid.blocks, kLaneThreads, 0, current_stream(device), groups, x.data<T>(),
           data_or_null<T>(weight), data_or_null<T>(bias), y.data<T>(), parts_of<T>(measures), setting.eps, grid.lanes);
  });
  return y;
}

NormGrads normalize_groups_gradient(const Tensor& x, const Tensor& weight, const Tensor& dy,
                                    const NormMeasures& measures, const NormSetting& setting, bool want_weight,
                                    bool want_bias) {
  const Device device = x.device();
  const cudaStream_t stream = current_stream(device);
  const Groups groups(x);
  const std::int64_t channels = x.size(1) * x.size(2);
  const Dims shape{x.size(1), x.size(2), 1};
  NormGrads grads;
  grads.x = empty_like(x);
  if (want_weight) grads.weight = empty(shape, x.dtype(), device);
  if (want_bias) grads.bias = empty(shape, x.dtype(), device);
  const Tensor plane_sums = empty({x.size(0) * channels, 2}, x.dtype(), device);
  const RowGrid plane_grid(x.size(0) * channels, x.size(3));
  const RowGrid grid(groups.rows, groups.width);
  const DeviceGuard guard(device);
  visit<kTaken>(x.dtype(), setting.op, [&]<class T>() {
    auto* const sums = static_cast<Sums<T>*>(plane_sums.raw_data());
    launch(setting.op, planes_kernel<T>, plane_grid.blocks, kLaneThreads, 0, stream, groups, x.data<T>(), dy.data<T>(),
           parts_of<T>(measures), sums, plane_grid.lanes);
    launch(setting.op, backward_kernel<T>, grid.blocks, kLaneThreads, 0, stream, groups, x.data<T>(),
           data_or_null<T>(weight), dy.data<T>(), parts_of<T>(measures), sums, grads.x.data<T>(), grid.lanes);
    if (!want_weight && !want_bias) return;
    const Lanes lanes{kLaneThreads / kColumns, false};
    launch(setting.op, channels_kernel<T>, static_cast<unsigned>((channels + kColumns - 1) / kColumns), kLaneThreads, 0,
           stream, sums, data_or_null<T>(grads.weight), data_or_null<T>(grads.bias), x.size(0), channels, lanes);
  });
  return grads;
}

}  // namespace lamella::cuda
