#include "ops/nn/resample.h"

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/wide_divide.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr int kPackBytes = 16;

bool is_aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kPackBytes == 0; }

/// The elements and weights of a rule's taps, [out, taps].
template <class T>
struct Table {
  std::int64_t* index;
  T* weight;
};

/// Extents of results [outer, axis, inner], whose source has `other` elements along the axis.
struct Sizes {
  std::int64_t threads;
  std::int64_t outer;
  WideDivide axis;
  std::int64_t other;
  std::int64_t inner;
  WideDivide packs;  ///< in `inner`
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

/// The results of a thread: `n` neighbors, at one index along the axis, of each of some outer rows, which have the taps
/// in common.
template <class T, int n>
class Results {
 public:
  static constexpr int kRows = n == 1 ? 8 : 4;

  __device__ Results(const Sizes& sizes, std::int64_t thread) : sizes_(sizes) {
    const std::int64_t of_axis = sizes.packs.quotient(thread);
    const std::int64_t group = sizes.axis.quotient(of_axis);
    index_ = of_axis - group * sizes.axis.divisor;
    first_ = group * kRows;
    inner_ = (thread - of_axis * sizes.packs.divisor) * n;
  }

  __device__ std::int64_t index() const { return index_; }

  /// Adds a weight's multiples of the elements at an index of the source.
  __device__ void add(const T* from, std::int64_t index, T weight) {
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      if (first_ + u >= sizes_.outer) break;
      T pack[n];
      load_pack<T, n>(from + ((first_ + u) * sizes_.other + index) * sizes_.inner + inner_, pack);
#pragma unroll
      for (int j = 0; j < n; ++j) sums_[u][j] += weight * pack[j];
    }
  }
  __device__ void store(T* to) const {
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      if (first_ + u >= sizes_.outer) break;
      store_pack<T, n>(sums_[u], to + ((first_ + u) * sizes_.axis.divisor + index_) * sizes_.inner + inner_);
    }
  }

 private:
  const Sizes& sizes_;
  std::int64_t index_;
  std::int64_t first_;  // of the outer rows
  std::int64_t inner_;
  T sums_[kRows][n] = {};
};

template <class T, int n>
__global__ void __launch_bounds__(kGridThreads)
    gather_kernel(const T* from, T* to, Table<T> table, std::int64_t taps, const __grid_constant__ Sizes sizes) {
  for_each_element(sizes.threads, [&](std::int64_t i) {
    Results<T, n> results(sizes, i);
    const std::int64_t first = results.index() * taps;
    for (std::int64_t k = first; k < first + taps; ++k) {
      // A tap of weight 0 is left out: times an infinite element it would be NaN.
      if (table.weight[k] != T(0)) results.add(from, table.index[k], table.weight[k]);
    }
    results.store(to);
  });
}

/// Sums, for the elements of the source, their multiples in all results.
template <class T, int n>
__global__ void __launch_bounds__(kGridThreads)
    scatter_kernel(const T* from, T* to, Table<T> table, std::int64_t taps, const __grid_constant__ Sizes sizes) {
  for_each_element(sizes.threads, [&](std::int64_t i) {
    Results<T, n> results(sizes, i);
    const std::int64_t source = results.index();
    // The results whose last tap does not come before the element form an end of the axis, found by bisection.
    std::int64_t first = 0;
    for (std::int64_t count = sizes.other; count > 0;) {
      const std::int64_t half = count / 2;
      const bool before = table.index[(first + half) * taps + taps - 1] < source;
      first = before ? first + half + 1 : first;
      count = before ? count - half - 1 : half;
    }
    for (std::int64_t o = first; o < sizes.other && table.index[o * taps] <= source; ++o) {
      for (std::int64_t k = o * taps; k < (o + 1) * taps; ++k) {
        if (table.index[k] == source && table.weight[k] != T(0)) results.add(from, o, table.weight[k]);
      }
    }
    results.store(to);
  });
}

void resample(const ResampleRule& rule, const Tensor& x, const Tensor& y, std::size_t axis, bool transposed) {
  constexpr const char* kName = "interpolate";
  const Device device = y.device();
  const cudaStream_t stream = current_stream(device);
  const std::int64_t inner = count_elements(DimsView(y.shape()).subspan(axis + 1));
  const std::int64_t outer = count_elements(DimsView(y.shape()).first(axis));
  const Tensor index = empty({rule.out * rule.taps}, DType::Int64, device);
  const Tensor weight = empty({rule.out * rule.taps}, y.dtype(), device);
  const DeviceGuard guard(device);
  visit<kTaken>(y.dtype(), kName, [&]<class T>() {
    const Table<T> table{index.data<std::int64_t>(), weight.data<T>()};
    launch(kName, table_kernel<T>, grid_blocks(rule.out), kGridThreads, 0, stream, rule, table);
    const auto start = [&]<int n>(std::integral_constant<int, n>) {
      constexpr std::int64_t kRows = Results<T, n>::kRows;
      const std::int64_t threads = (outer + kRows - 1) / kRows * y.shape()[axis] * (inner / n);
      const Sizes sizes{.threads = threads,
                        .outer = outer,
                        .axis = WideDivide(y.shape()[axis]),
                        .other = x.shape()[axis],
                        .inner = inner,
                        .packs = WideDivide(inner / n)};
      launch(kName, transposed ? scatter_kernel<T, n> : gather_kernel<T, n>, grid_blocks(threads), kGridThreads, 0,
             stream, x.data<T>(), y.data<T>(), table, rule.taps, sizes);
    };
    constexpr int kPack = kPackBytes / sizeof(T);
    if (inner % kPack == 0 && is_aligned(x.data<T>()) && is_aligned(y.data<T>()))
      return start(std::integral_constant<int, kPack>());
    start(std::integral_constant<int, 1>());
  });
}

[[maybe_unused]] const bool kResampleRegistered = register_kernel<&DeviceKernels::resample>(DeviceType::CUDA, resample);

}  // namespace
}  // namespace lamella::cuda
