#include <algorithm>
#include <bit>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/bisect.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/rows.h"
#include "ops/cuda/sort_pairs.h"
#include "ops/nn/grid_axis.h"
#include "ops/simd/lane.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

// Note [Gradient of sampled images]
// An element of the images gathers what goes to it, as a scatter by atomics would give other bits in each run. Places
// are sorted by the first of the elements that they are computed from, so that those that an element looks at are a
// range for each row of the window in front of it. A thread takes short ranges, and a block those in which many places
// meet, as at the border of an image that a grid exceeds. The order of additions depends on the grid alone.

namespace lamella::cuda {
namespace {

constexpr const char* kName = "grid_sample";
constexpr int kChannels = 4;                   // of a place or an element, which a thread computes
constexpr std::int64_t kShortRange = 256;      // places that a thread looks at by itself
constexpr std::int64_t kManyPlaces = 1 << 17;  // enough for a device without several threads for each

constexpr int power(int base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

/// The extents of a call; axes as in memory, the innermost last.
template <int kAxes>
struct Extents {
  std::int64_t images;
  std::int64_t channels;
  std::int64_t places;
  std::int64_t sizes[kAxes];
  cpu::GridSetting setting;

  __host__ __device__ std::int64_t elements() const {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes) product *= size;
    return product;
  }
  __host__ __device__ std::int64_t groups() const { return (channels + kChannels - 1) / kChannels; }
};

/// The group of channels, and the place or element of an image, that a thread computes.
struct Item {
  std::int64_t image;
  std::int64_t channel;  ///< the first one
  std::int64_t at;

  __device__ Item(std::int64_t number, std::int64_t groups, std::int64_t count)
      : image(number / count / groups), channel(number / count % groups * kChannels), at(number % count) {}
  /// Calls f(c) for the channels of the group.
  template <class F>
  __device__ void for_each_channel(std::int64_t channels, F&& f) const {
    for (int c = 0; c < kChannels; ++c) {
      if (channel + c < channels) f(c);
    }
  }
};

/// The elements around a place, and their weights.
template <class T, int kAxes, int kCount>
class Around {
 public:
  using Number = Wide<T>;
  using V = simd::Lane<Number>;
  static constexpr int kElements = power(kCount, kAxes);
  static constexpr int kUnrolled = kElements <= 8 ? kElements : 1;  // of loops over elements, which compile slowly

  __device__ Around(const Extents<kAxes>& extents, const T* grid, std::int64_t place) {
    for (int a = 0; a < kAxes; ++a) {
      // The grid lists the coordinate of the last axis first.
      const V at(widened<Number>(grid[place * kAxes + kAxes - 1 - a]));
      const sampling::Axis<V> axis{V(extents.sizes[a]), extents.setting.outside, extents.setting.align_corners};
      const sampling::Neighbors<V, kCount> neighbors = sampling::neighbors_of<kCount>(at, axis);
      for (int k = 0; k < kCount; ++k) {
        // Clamped, because large sizes are rounded.
        element_[a][k] = min(static_cast<std::int64_t>(neighbors.element[k].value()), extents.sizes[a] - 1);
        weight_[a][k] = neighbors.weight[k].value.value();
        slope_[a][k] = neighbors.weight[k].slope.value();
      }
    }
  }

  /// Returns the offset of an element in an image, by its number.
  __device__ std::int64_t offset(const Extents<kAxes>& extents, int number) const {
    std::int64_t result = 0;
    for (int a = 0; a < kAxes; ++a) result = result * extents.sizes[a] + element_[a][digit(number, a)];
    return result;
  }
  /// Returns the weight of an element, by its number.
  __device__ Number weight(int number) const {
    Number product = 1;
    for (int a = 0; a < kAxes; ++a) product *= weight_[a][digit(number, a)];
    return product;
  }
  /// Returns the derivative of a weight by the coordinate along an axis.
  __device__ Number slope(int number, int axis) const {
    Number product = 1;
    for (int a = 0; a < kAxes; ++a) product *= (a == axis ? slope_ : weight_)[a][digit(number, a)];
    return product;
  }

  /// Returns the weight of the element with these indices: of the neighbors along an axis, several may be the same.
  __device__ Number weight_of(const std::int64_t (&element)[kAxes]) const {
    Number product = 1;
    for (int a = 0; a < kAxes; ++a) {
      Number sum = 0;
      for (int k = 0; k < kCount; ++k) sum += element_[a][k] == element[a] ? weight_[a][k] : 0;
      product *= sum;
    }
    return product;
  }
  /// Returns the first element along an axis, or -1 if none has a weight.
  __device__ std::int64_t first(int axis) const {
    std::int64_t least = element_[axis][0];
    bool any = false;
    for (int k = 0; k < kCount; ++k) {
      least = min(least, element_[axis][k]);
      any |= weight_[axis][k] != 0;
    }
    return any ? least : -1;
  }

 private:
  /// Returns the neighbor along an axis that an element of a number is.
  __device__ static constexpr int digit(int number, int axis) {
    return number / power(kCount, kAxes - 1 - axis) % kCount;
  }

  std::int64_t element_[kAxes][kCount];
  Number weight_[kAxes][kCount];
  Number slope_[kAxes][kCount];
};

template <class T, int kAxes, int kCount>
__global__ void __launch_bounds__(kGridThreads)
    forward_kernel(const __grid_constant__ Extents<kAxes> extents, const T* x, const T* grid, T* y) {
  using Near = Around<T, kAxes, kCount>;
  const std::int64_t elements = extents.elements();
  for_each_element(extents.images * extents.groups() * extents.places, [&](std::int64_t i) {
    const Item item(i, extents.groups(), extents.places);
    const Near around(extents, grid, item.image * extents.places + item.at);
    const std::int64_t first = item.image * extents.channels + item.channel;
    Wide<T> sums[kChannels] = {};
#pragma unroll Near::kUnrolled
    for (int n = 0; n < Near::kElements; ++n) {
      const Wide<T> weight = around.weight(n);
      if (weight == 0) continue;  // of an element that may be infinite
      const T* const from = x + first * elements + around.offset(extents, n);
      item.for_each_channel(extents.channels, [&](int c) { sums[c] += weight * widened<Wide<T>>(from[c * elements]); });
    }
    item.for_each_channel(extents.channels,
                          [&](int c) { y[(first + c) * extents.places + item.at] = rounded<T>(sums[c]); });
  });
}

/// Computes the gradient of the grid; the lanes of a place share its channels.
template <class T, int kAxes, int kCount>
__global__ void __launch_bounds__(kLaneThreads)
    grid_gradient_kernel(const __grid_constant__ Extents<kAxes> extents, const T* x, const T* grid, const T* dy,
                         T* dgrid, Lanes lanes) {
  using Near = Around<T, kAxes, kCount>;
  __shared__ Wide<T> shared[kLaneThreads];
  const std::int64_t elements = extents.elements();
  for_each_row(extents.images * extents.places, lanes, [&](std::int64_t row, Place place, bool valid) {
    Wide<T> sums[kAxes] = {};
    if (valid) {
      const Near around(extents, grid, row);
      const std::int64_t first = row / extents.places * extents.channels;
      const T* const given = dy + first * extents.places + row % extents.places;
#pragma unroll Near::kUnrolled
      for (int n = 0; n < Near::kElements; ++n) {
        Wide<T> slopes[kAxes];
        bool any = false;
        for (int a = 0; a < kAxes; ++a) {
          slopes[a] = around.slope(n, a);
          any |= slopes[a] != 0;
        }
        if (!any) continue;
        const T* const from = x + first * elements + around.offset(extents, n);
        Wide<T> sum = 0;
        for (std::int64_t c = place.lane; c < extents.channels; c += lanes.count)
          sum += widened<Wide<T>>(from[c * elements]) * widened<Wide<T>>(given[c * extents.places]);
        for (int a = 0; a < kAxes; ++a) sums[a] += slopes[a] == 0 ? 0 : slopes[a] * sum;
      }
    }
    for (int a = 0; a < kAxes; ++a) {
      const Wide<T> total =
          combine_lanes(shared, sums[a], place, lanes.count, [](Wide<T> p, Wide<T> q) { return p + q; });
      if (valid && place.lane == 0) dgrid[row * kAxes + kAxes - 1 - a] = rounded<T>(total);
    }
  });
}

/// Writes for each place the number of the first element that it is computed from, in all images, by which places are
/// sorted; those of none come last.
template <class T, int kAxes, int kCount>
__global__ void __launch_bounds__(kGridThreads) keys_kernel(const __grid_constant__ Extents<kAxes> extents,
                                                            const T* grid, std::int64_t* keys, std::int64_t* numbers) {
  for_each_element(extents.images * extents.places, [&](std::int64_t i) {
    const Around<T, kAxes, kCount> around(extents, grid, i);
    std::int64_t key = i / extents.places;
    bool any = true;
    for (int a = 0; a < kAxes; ++a) {
      const std::int64_t first = around.first(a);
      any &= first >= 0;
      key = key * extents.sizes[a] + first;
    }
    keys[i] = any ? key : extents.images * extents.elements();
    numbers[i] = i;
  });
}

/// The operands of the gradient of the images: the sorted keys of places, and their numbers.
template <class T, int kAxes>
struct Sorted {
  Extents<kAxes> extents;
  const T* grid;
  const T* dy;
  const std::int64_t* keys;
  const std::int64_t* numbers;
};

/// An element of the images, in a group of channels.
template <class T, int kAxes, int kCount>
class Element {
 public:
  static constexpr int kRanges = power(kCount, kAxes - 1);

  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  __device__ Element(const Sorted<T, kAxes>& sorted, std::int64_t number)
      : sorted_(sorted), item_(number, sorted.extents.groups(), sorted.extents.elements()) {
    std::int64_t rest = item_.at;
    for (int a = kAxes - 1; a >= 0; --a) {
      index_[a] = rest % sorted.extents.sizes[a];
      rest /= sorted.extents.sizes[a];
    }
  }

  /// Returns the sorted places whose first element is in a row of the window that ends at the element.
  __device__ Range range(int row) const {
    std::int64_t key = item_.image;
    for (int a = 0; a < kAxes - 1; ++a) {
      const std::int64_t first = index_[a] - row / power(kCount, kAxes - 2 - a) % kCount;
      if (first < 0) return {};
      key = key * sorted_.extents.sizes[a] + first;
    }
    key = key * sorted_.extents.sizes[kAxes - 1] + index_[kAxes - 1];
    const std::int64_t places = sorted_.extents.images * sorted_.extents.places;
    const std::int64_t before = min(index_[kAxes - 1], std::int64_t{kCount - 1});
    const std::int64_t* const keys = sorted_.keys;
    const std::int64_t begin = first_not(0, places, [&](std::int64_t at) { return keys[at] < key - before; });
    return {begin, first_not(begin, places, [&](std::int64_t at) { return keys[at] <= key; })};
  }

  /// Adds what a sorted place gives.
  __device__ void add(std::int64_t position, Wide<T> (&sums)[kChannels]) const {
    const Extents<kAxes>& extents = sorted_.extents;
    const std::int64_t number = sorted_.numbers[position];
    const Wide<T> weight = Around<T, kAxes, kCount>(extents, sorted_.grid, number).weight_of(index_);
    if (weight == 0) return;
    const T* const dy = sorted_.dy + (item_.image * extents.channels + item_.channel) * extents.places +
                        (number - item_.image * extents.places);
    item_.for_each_channel(extents.channels,
                           [&](int c) { sums[c] += weight * widened<Wide<T>>(dy[c * extents.places]); });
  }

  __device__ void write(const Wide<T> (&sums)[kChannels], T* dx) const {
    const Extents<kAxes>& extents = sorted_.extents;
    const std::int64_t first = item_.image * extents.channels + item_.channel;
    const std::int64_t elements = extents.elements();
    item_.for_each_channel(extents.channels,
                           [&](int c) { dx[(first + c) * elements + item_.at] = rounded<T>(sums[c]); });
  }

 private:
  const Sorted<T, kAxes>& sorted_;
  Item item_;
  std::int64_t index_[kAxes];
};

/// Computes the gradient of the images; see Note [Gradient of sampled images].
template <class T, int kAxes, int kCount>
__global__ void __launch_bounds__(kLaneThreads)
    image_gradient_kernel(const __grid_constant__ Sorted<T, kAxes> sorted, T* dx) {
  using Mine = Element<T, kAxes, kCount>;
  using Range = typename Mine::Range;
  __shared__ Wide<T> shared[kLaneThreads];
  __shared__ std::uint32_t long_ranges[kLaneThreads];  // a bit for each
  const Place place(Lanes{kLaneThreads, true});
  const std::int64_t count = sorted.extents.images * sorted.extents.groups() * sorted.extents.elements();
  const std::int64_t step = std::int64_t{gridDim.x} * kLaneThreads;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kLaneThreads; first < count; first += step) {
    const std::int64_t i = first + threadIdx.x;
    const Mine mine(sorted, min(i, count - 1));
    Wide<T> sums[kChannels] = {};
    std::uint32_t left = 0;
#pragma unroll 1
    for (int r = 0; r < Mine::kRanges && i < count; ++r) {
      const Range range = mine.range(r);
      if (range.end - range.begin > kShortRange) {
        left |= 1U << r;
      } else {
        for (std::int64_t at = range.begin; at < range.end; ++at) mine.add(at, sums);
      }
    }
    long_ranges[threadIdx.x] = left;
    const bool any = __syncthreads_or(left != 0) != 0;
    for (std::uint32_t k = 0; any && k < kLaneThreads; ++k) {
      for (std::uint32_t rest = long_ranges[k]; rest != 0; rest &= rest - 1) {
        const Mine other(sorted, first + k);
        const Range range = other.range(__ffs(static_cast<int>(rest)) - 1);
        Wide<T> parts[kChannels] = {};
        for (std::int64_t at = range.begin + threadIdx.x; at < range.end; at += kLaneThreads) other.add(at, parts);
        for (int c = 0; c < kChannels; ++c) {
          const Wide<T> total =
              combine_lanes(shared, parts[c], place, kLaneThreads, [](Wide<T> p, Wide<T> q) { return p + q; });
          if (threadIdx.x == k) sums[c] += total;
        }
      }
    }
    __syncthreads();  // all have read which ranges are long
    if (i < count) mine.write(sums, dx);
  }
}

/// Calls f.operator()<T, axes, neighbors along each>(extents) for a call.
template <class F>
void visit_call(const cpu::GridSetting& setting, const Tensor& x, const Tensor& grid, F&& f) {
  visit<Floating>(x.dtype(), kName, [&]<class T>() {
    const auto with_axes = [&]<int kAxes>() {
      Extents<kAxes> extents;
      extents.images = x.size(0);
      extents.channels = x.size(1);
      extents.places = grid.numel() / kAxes / extents.images;
      extents.setting = setting;
      std::copy_n(x.shape().begin() + 2, kAxes, extents.sizes);
      switch (setting.mode) {
        case cpu::GridMode::Linear:
          return f.template operator()<T, kAxes, 2>(extents);
        case cpu::GridMode::Nearest:
          return f.template operator()<T, kAxes, 1>(extents);
        case cpu::GridMode::Cubic:
          return f.template operator()<T, kAxes, 4>(extents);
      }
    };
    x.ndim() == 4 ? with_axes.template operator()<2>() : with_axes.template operator()<3>();
  });
}

void forward(const cpu::GridSetting& setting, const Tensor& x, const Tensor& grid, const Tensor& y) {
  const DeviceGuard guard(x.device());
  visit_call(setting, x, grid, [&]<class T, int kAxes, int kCount>(const Extents<kAxes>& extents) {
    const std::int64_t items = extents.images * extents.groups() * extents.places;
    launch(kName, forward_kernel<T, kAxes, kCount>, grid_blocks(items), kGridThreads, 0, current_stream(x.device()),
           extents, x.data<T>(), grid.data<T>(), y.data<T>());
  });
}

template <class T, int kAxes, int kCount>
void grid_gradient(const Extents<kAxes>& extents, const Tensor& x, const Tensor& grid, const Tensor& dy,
                   const Tensor& dgrid) {
  const std::int64_t places = extents.images * extents.places;
  // Neighboring threads take neighboring places, whose elements lie side by side in memory.
  constexpr std::int64_t kMostLanes = 32;
  const auto most =
      std::bit_ceil(static_cast<std::uint32_t>(std::clamp(kManyPlaces / places, std::int64_t{1}, kMostLanes)));
  const RowGrid rows(places, Lanes{lanes_for(extents.channels, most), false});
  launch(kName, grid_gradient_kernel<T, kAxes, kCount>, rows.blocks, kLaneThreads, 0, current_stream(x.device()),
         extents, x.data<T>(), grid.data<T>(), dy.data<T>(), dgrid.data<T>(), rows.lanes);
}

template <class T, int kAxes, int kCount>
void image_gradient(const Extents<kAxes>& extents, const Tensor& grid, const Tensor& dy, const Tensor& dx) {
  const Device device = dx.device();
  const cudaStream_t stream = current_stream(device);
  const std::int64_t places = extents.images * extents.places;
  const Tensor keys = empty({places}, DType::Int64, device);
  const Tensor numbers = empty({places}, DType::Int64, device);
  launch(kName, keys_kernel<T, kAxes, kCount>, grid_blocks(places), kGridThreads, 0, stream, extents, grid.data<T>(),
         keys.data<std::int64_t>(), numbers.data<std::int64_t>());
  const int bits = std::bit_width(static_cast<std::uint64_t>(extents.images * extents.elements()));
  const SortedPairs pairs =
      sort_pairs(keys.data<std::int64_t>(), numbers.data<std::int64_t>(), places, bits, device, kName);
  const Sorted<T, kAxes> sorted{extents, grid.data<T>(), dy.data<T>(), pairs.keys.data<std::int64_t>(),
                                pairs.values.data<std::int64_t>()};
  const std::int64_t items = extents.images * extents.groups() * extents.elements();
  launch(kName, image_gradient_kernel<T, kAxes, kCount>, grid_blocks(items), kLaneThreads, 0, stream, sorted,
         dx.data<T>());
}

void backward(const cpu::GridSetting& setting, const Tensor& x, const Tensor& grid, const Tensor& dy, const Tensor& dx,
              const Tensor& dgrid) {
  const DeviceGuard guard(x.device());
  visit_call(setting, x, grid, [&]<class T, int kAxes, int kCount>(const Extents<kAxes>& extents) {
    if (dgrid.defined()) grid_gradient<T, kAxes, kCount>(extents, x, grid, dy, dgrid);
    if (dx.defined()) image_gradient<T, kAxes, kCount>(extents, grid, dy, dx);
  });
}

[[maybe_unused]] const bool kGridSampleRegistered =
    register_kernel<&DeviceKernels::grid_sample>(DeviceType::CUDA, forward) &&
    register_kernel<&DeviceKernels::grid_sample_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
