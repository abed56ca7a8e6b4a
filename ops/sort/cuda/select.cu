#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/bisect.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/scan_lanes.h"
#include "ops/sort/cuda/row_keys.h"
#include "ops/sort/cuda/sort.h"
#include "ops/support/device_kernels.h"

// Selection from rows that are too long to be sorted in shared memory. A block finds the key of the wanted element
// digit by digit, from the highest one, by the counts of digits among the elements that agree with it so far; then it
// takes the elements in order of their positions.

namespace lamella::cuda {
namespace {

using cpu::Rank;

constexpr int kDigit = 8;
static_assert(1 << kDigit == kLaneThreads, "a thread counts one digit");

/// Longest row that is selected from where there are few rows, each of which keeps one block busy.
constexpr std::int64_t kLongest = 1 << 16;
constexpr std::int64_t kFewRows = 32;

struct Count {
  using Part = unsigned long long;
  __device__ static Part identity() { return 0; }
  __device__ static Part combine(Part a, Part b) { return a + b; }
};

/// Numbers of the elements with smaller keys and with the same key.
struct Counts {
  std::int64_t smaller;
  std::int64_t same;
};
struct CountBoth {
  using Part = Counts;
  __device__ static Part identity() { return {0, 0}; }
  __device__ static Part combine(Part a, Part b) { return {a.smaller + b.smaller, a.same + b.same}; }
};

/// A block's threads, and the memory by which they work together.
struct Block {
  Count::Part (&counts)[kLaneThreads];
  Counts (&both)[kLaneThreads];
  Place place = Place({kLaneThreads, true});
};

struct Found {
  std::uint64_t key;
  /// Number of elements with the same key that come before the found one.
  std::int64_t earlier;
};

/// Returns the key of the k-th element in order of the row's n elements from `first` on.
__device__ Found find_key(const RowKeys& x, std::int64_t first, std::int64_t n, std::int64_t k, Block& block) {
  __shared__ std::uint64_t found_key;
  __shared__ std::int64_t found_rank;
  Found found{0, k};
  for (int shift = x.bits - kDigit; shift >= 0; shift -= kDigit) {
    __syncthreads();
    block.counts[threadIdx.x] = 0;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < n; i += kLaneThreads) {
      const std::uint64_t digits = x.at(first + i) >> shift;
      if (digits >> kDigit == found.key) atomicAdd(&block.counts[digits & (kLaneThreads - 1)], Count::Part{1});
    }
    __syncthreads();
    const Count::Part mine = block.counts[threadIdx.x];
    const auto before =
        static_cast<std::int64_t>(scan_lanes<Count>(block.counts, mine, block.place, kLaneThreads).before);
    if (found.earlier >= before && found.earlier < before + static_cast<std::int64_t>(mine)) {
      found_key = found.key << kDigit | threadIdx.x;
      found_rank = found.earlier - before;
    }
    __syncthreads();
    found = {found_key, found_rank};
  }
  return found;
}

/// Returns the place in order of a median of n elements, the last `nans` of which are NaN.
__device__ std::int64_t place_of_middle(Rank rank, std::int64_t n, std::int64_t nans) {
  const bool is_nan = nans == n || (nans > 0 && rank == Rank::Median);
  return is_nan ? n - nans : (n - nans - 1) / 2;
}

/// Calls f(i, the counts before i, true if the key is smaller, true if it is the same, the counts of 256 neighbors) for
/// the elements of a row, until a call returns true. All threads of the block must call it.
template <class F>
__device__ void for_each_in_order(const RowKeys& x, std::int64_t first, std::int64_t n, std::uint64_t key, Block& block,
                                  F&& f) {
  Counts before{0, 0};
  for (std::int64_t tile = 0; tile < n; tile += kLaneThreads) {
    const std::int64_t i = tile + threadIdx.x;
    const std::uint64_t own = i < n ? x.at(first + i) : ~std::uint64_t{0};
    const bool smaller = i < n && own < key;
    const bool same = i < n && own == key;
    const auto scanned = scan_lanes<CountBoth>(block.both, Counts{smaller, same}, block.place, kLaneThreads);
    if (f(i, CountBoth::combine(before, scanned.before), smaller, same, scanned.all)) return;
    before = CountBoth::combine(before, scanned.all);
  }
}

/// Writes the positions of the first k in order of each row, in the order of the positions.
__global__ void __launch_bounds__(kLaneThreads)
    top_kernel(const RowKeys x, const std::int64_t rows, const std::int64_t n, const std::int64_t k,
               std::int64_t* positions) {
  __shared__ Count::Part counts[kLaneThreads];
  __shared__ Counts both[kLaneThreads];
  Block block{counts, both};
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const Found last = find_key(x, row * n, n, k - 1, block);
    const std::int64_t ties = last.earlier + 1;
    for_each_in_order(x, row * n, n, last.key, block,
                      [&](std::int64_t i, Counts before, bool smaller, bool same, Counts) {
                        if (smaller || (same && before.same < ties)) {
                          positions[row * k + before.smaller + min(before.same, ties)] = i;
                        }
                        return false;
                      });
  }
}

__global__ void __launch_bounds__(kLaneThreads)
    nth_kernel(const RowKeys x, const Rank rank, const std::int64_t rows, const std::int64_t n, const std::int64_t k,
               std::int64_t* positions) {
  __shared__ Count::Part counts[kLaneThreads];
  __shared__ Counts both[kLaneThreads];
  Block block{counts, both};
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    std::int64_t wanted = k;
    if (rank != Rank::Kth) {
      Count::Part mine = 0;
      for (std::int64_t i = threadIdx.x; i < n; i += kLaneThreads) mine += x.is_nan(row * n + i);
      const auto nans = static_cast<std::int64_t>(scan_lanes<Count>(counts, mine, block.place, kLaneThreads).all);
      wanted = place_of_middle(rank, n, nans);
    }
    const Found found = find_key(x, row * n, n, wanted, block);
    std::int64_t seen = 0;
    for_each_in_order(x, row * n, n, found.key, block, [&](std::int64_t i, Counts before, bool, bool same, Counts all) {
      if (same && before.same == found.earlier) positions[row] = i;
      seen += all.same;
      return seen > found.earlier;
    });
  }
}

/// Takes the wanted element of each row from the positions of all elements in order, where NaN is last.
__global__ void __launch_bounds__(kGridThreads)
    nth_in_order_kernel(const RowKeys x, const std::int64_t* order, const Rank rank, const std::int64_t rows,
                        const std::int64_t n, const std::int64_t k, std::int64_t* positions) {
  for_each_element(rows, [&](std::int64_t row) {
    const std::int64_t first = row * n;
    std::int64_t wanted = k;
    if (rank != Rank::Kth) {
      const std::int64_t numbers = first_not(0, n, [&](std::int64_t i) { return !x.is_nan(first + order[first + i]); });
      wanted = place_of_middle(rank, n, n - numbers);
    }
    positions[row] = order[first + wanted];
  });
}

unsigned row_blocks(std::int64_t rows) {
  return static_cast<unsigned>(std::min<std::int64_t>(rows, std::int64_t{1} << 20));
}

void select_top(const Tensor& x, std::int64_t k, bool largest, bool sorted, const Tensor& positions, const char* op) {
  const std::int64_t n = row_length(x);
  const std::int64_t rows = x.numel() / n;
  if (n <= kLongestInBlock || k == n || (n > kLongest && rows < kFewRows))
    return first_in_order(x, k, largest, positions, op);
  const DeviceGuard guard(x.device());
  const RowKeys keys{x.raw_data(), x.dtype(), largest};
  const Tensor chosen = sorted ? empty(positions.shape(), DType::Int64, x.device()) : positions;
  launch(op, top_kernel, row_blocks(rows), kLaneThreads, 0, current_stream(x.device()), keys, rows, n, k,
         chosen.data<std::int64_t>());
  if (!sorted) return;
  // Equal elements are in order now, and a sort leaves them in order.
  const auto pick = device_kernel<&DeviceKernels::pick_along>(x.device(), op);
  const auto last = static_cast<std::int64_t>(x.ndim()) - 1;
  const Tensor values = empty(positions.shape(), x.dtype(), x.device());
  pick(x, chosen, last, values);
  const Tensor order = empty(positions.shape(), DType::Int64, x.device());
  first_in_order(values, k, largest, order, op);
  pick(chosen, order, last, positions);
}

void select_nth(const Tensor& x, Rank rank, std::int64_t k, const Tensor& positions, const char* op) {
  const DeviceGuard guard(x.device());
  const std::int64_t n = row_length(x);
  const std::int64_t rows = x.numel() / n;
  const cudaStream_t stream = current_stream(x.device());
  const RowKeys keys{x.raw_data(), x.dtype()};
  if (n > kLongestInBlock) {
    return launch(op, nth_kernel, row_blocks(rows), kLaneThreads, 0, stream, keys, rank, rows, n, k,
                  positions.data<std::int64_t>());
  }
  const Tensor order = empty(x.shape(), DType::Int64, x.device());
  first_in_order(x, n, false, order, op);
  launch(op, nth_in_order_kernel, grid_blocks(rows), kGridThreads, 0, stream, keys, order.data<std::int64_t>(), rank,
         rows, n, k, positions.data<std::int64_t>());
}

[[maybe_unused]] const bool kSelectRegistered =
    register_kernel<&DeviceKernels::top_positions>(DeviceType::CUDA, select_top) &&
    register_kernel<&DeviceKernels::nth_positions>(DeviceType::CUDA, select_nth);

}  // namespace
}  // namespace lamella::cuda
