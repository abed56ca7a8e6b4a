#include "ops/nn/resample.h"

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};

/// The elements and weights of a rule's taps, [out, taps].
template <class T>
struct Table {
  std::int64_t* index;
  T* weight;
};

/// Extents of [outer, elements of the axis, inner], and those of the other side of the rule.
struct Sizes {
  std::int64_t count;
  std::int64_t axis;
  std::int64_t other;
  std::int64_t inner;
};

template <class T>
__global__ void __launch_bounds__(kGridThreads)
    table_kernel(const __grid_constant__ ResampleRule rule, Table<T> table) {
  for_each_element(rule.out, [&](std::int64_t o) {
    rule.for_each_tap(o, [&](std::int64_t k, std::int64_t source, double weight) {
      table.index[o * rule.taps + k] = source;
      table.weight[o * rule.taps + k] = static_cast<T>(weight);
    });
  });
}

template <class T>
__global__ void __launch_bounds__(kGridThreads)
    gather_kernel(const T* from, T* to, Table<T> table, std::int64_t taps, Sizes sizes) {
  for_each_element(sizes.count, [&](std::int64_t i) {
    const std::int64_t o = i / sizes.inner % sizes.axis;
    const T* const x = from + i / sizes.inner / sizes.axis * sizes.other * sizes.inner + i % sizes.inner;
    T sum = 0;
    for (std::int64_t k = o * taps; k < (o + 1) * taps; ++k) {
      // A tap of weight 0 is left out: times an infinite element it would be NaN.
      if (table.weight[k] != T(0)) sum += table.weight[k] * x[table.index[k] * sizes.inner];
    }
    to[i] = sum;
  });
}

/// Sums, for each element of the source in a thread of its own, its multiples in all results.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    scatter_kernel(const T* from, T* to, Table<T> table, std::int64_t taps, Sizes sizes) {
  for_each_element(sizes.count, [&](std::int64_t i) {
    const std::int64_t source = i / sizes.inner % sizes.axis;
    const T* const dy = from + i / sizes.inner / sizes.axis * sizes.other * sizes.inner + i % sizes.inner;
    // The results whose last tap does not come before the element form an end of the axis, found by bisection.
    std::int64_t first = 0;
    for (std::int64_t count = sizes.other; count > 0;) {
      const std::int64_t half = count / 2;
      const bool before = table.index[(first + half) * taps + taps - 1] < source;
      first = before ? first + half + 1 : first;
      count = before ? count - half - 1 : half;
    }
    T sum = 0;
    for (std::int64_t o = first; o < sizes.other && table.index[o * taps] <= source; ++o) {
      for (std::int64_t k = o * taps; k < (o + 1) * taps; ++k) {
        if (table.index[k] == source && table.weight[k] != T(0)) sum += table.weight[k] * dy[o * sizes.inner];
      }
    }
    to[i] = sum;
  });
}

void resample(const ResampleRule& rule, const Tensor& x, const Tensor& y, std::size_t axis, bool transposed) {
  constexpr const char* kName = "interpolate";
  const Device device = y.device();
  const cudaStream_t stream = current_stream(device);
  const Sizes sizes{.count = y.numel(),
                    .axis = y.shape()[axis],
                    .other = x.shape()[axis],
                    .inner = count_elements(DimsView(y.shape()).subspan(axis + 1))};
  const Tensor index = empty({rule.out * rule.taps}, DType::Int64, device);
  const Tensor weight = empty({rule.out * rule.taps}, y.dtype(), device);
  const DeviceGuard guard(device);
  visit<kTaken>(y.dtype(), kName, [&]<class T>() {
    const Table<T> table{index.data<std::int64_t>(), weight.data<T>()};
    launch(kName, table_kernel<T>, grid_blocks(rule.out), kGridThreads, 0, stream, rule, table);
    launch(kName, transposed ? scatter_kernel<T> : gather_kernel<T>, grid_blocks(sizes.count), kGridThreads, 0, stream,
           x.data<T>(), y.data<T>(), table, rule.taps, sizes);
  });
}

[[maybe_unused]] const bool kResampleRegistered = register_kernel<&DeviceKernels::resample>(DeviceType::CUDA, resample);

}  // namespace
}  // namespace lamella::cuda
