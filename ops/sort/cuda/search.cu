#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/bisect.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/rows.h"
#include "ops/sort/cuda/row_keys.h"
#include "ops/sort/cuda/sort.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

/// `row` is the number of values that search in the same row of n elements.
__global__ void __launch_bounds__(kGridThreads)
    search_kernel(const RowKeys sorted, const std::int64_t n, const RowKeys values, const std::int64_t count,
                  const std::int64_t row, const bool right, std::int64_t* positions) {
  for_each_element(count, [&](std::int64_t i) {
    const std::uint64_t key = values.at(i);
    const std::int64_t first = i / row * n;
    positions[i] = first_not(0, n, [&](std::int64_t at) {
      const std::uint64_t other = sorted.at(first + at);
      return right ? other <= key : other < key;
    });
  });
}

void search(const Tensor& sorted, const Tensor& values, bool right, const Tensor& positions, const char* op) {
  const Device device = positions.device();
  const DeviceGuard guard(device);
  const std::int64_t count = values.numel();
  launch(op, search_kernel, grid_blocks(count), kGridThreads, 0, current_stream(device),
         RowKeys{sorted.raw_data(), sorted.dtype()}, sorted.shape().back(), RowKeys{values.raw_data(), values.dtype()},
         count, sorted.ndim() == 1 ? count : values.shape().back(), right, positions.data<std::int64_t>());
}

/// A run of equal elements: its length, and where it begins in the row in order.
struct Run {
  std::int64_t length;
  std::int64_t begin;
};

/// Finds the longest run of each row, of several the first, and writes the position of its first element.
__global__ void __launch_bounds__(kLaneThreads)
    mode_kernel(const RowKeys x, const std::int64_t* order, const std::int64_t rows, const std::int64_t n,
                const Lanes lanes, std::int64_t* positions) {
  __shared__ Run shared[kLaneThreads];
  for_each_row(rows, lanes, [&](std::int64_t row, Place place, bool exists) {
    const std::int64_t first = row * n;
    const auto key_at = [&](std::int64_t i) { return x.at(first + order[first + i]); };
    Run longest{0, 0};
    for (std::int64_t i = place.lane; exists && i < n; i += lanes.count) {
      const std::uint64_t key = key_at(i);
      Run run{1, i};
      // Each NaN is a value of its own.
      if (!x.is_nan(first + order[first + i])) {
        if (i > 0 && key_at(i - 1) == key) continue;
        run.length = first_not(i + 1, n, [&](std::int64_t at) { return key_at(at) == key; }) - i;
      }
      if (run.length > longest.length) longest = run;
    }
    const Run found = combine_lanes(shared, longest, place, lanes.count, [](Run a, Run b) {
      return a.length > b.length || (a.length == b.length && a.begin < b.begin) ? a : b;
    });
    if (exists && place.lane == 0) positions[row] = order[first + found.begin];
  });
}

void find_modes(const Tensor& x, const Tensor& positions, const char* op) {
  const DeviceGuard guard(x.device());
  const std::int64_t n = row_length(x);
  const std::int64_t rows = x.numel() / n;
  const Tensor order = empty(x.shape(), DType::Int64, x.device());
  first_in_order(x, n, false, order, op);
  const RowGrid grid(rows, n);
  launch(op, mode_kernel, grid.blocks, kLaneThreads, 0, current_stream(x.device()), RowKeys{x.raw_data(), x.dtype()},
         order.data<std::int64_t>(), rows, n, grid.lanes, positions.data<std::int64_t>());
}

[[maybe_unused]] const bool kSearchRegistered =
    register_kernel<&DeviceKernels::search_sorted>(DeviceType::CUDA, search) &&
    register_kernel<&DeviceKernels::mode_positions>(DeviceType::CUDA, find_modes);

}  // namespace
}  // namespace lamella::cuda
