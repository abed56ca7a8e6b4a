#include <algorithm>
#include <bit>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cpu/tables/index_loops.h"
#include "ops/creation/creation.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/sort_pairs.h"
#include "ops/index/cuda/runs.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

template <class W>
__global__ void __launch_bounds__(kGridThreads)
    gather_kernel(const W* x, const std::int64_t* rows, std::int64_t count, std::int64_t width, W* out) {
  for_each_element(count * width, [&](std::int64_t i) {
    const std::int64_t row = rows[i / width];
    out[i] = row < 0 ? W{} : x[row * width + i % width];
  });
}

/// Writes the last row of each run of equal `rows`, which are sorted with the positions `picks` before sorting.
template <class W>
__global__ void __launch_bounds__(kGridThreads)
    put_kernel(const W* values, const std::int64_t* rows, const std::int64_t* picks, std::int64_t count,
               std::int64_t width, W* out) {
  for_each_element(count * width, [&](std::int64_t i) {
    const std::int64_t at = i / width;
    if (rows[at] < 0 || (at + 1 < count && rows[at + 1] == rows[at])) return;
    out[rows[at] * width + i % width] = values[picks[at] * width + i % width];
  });
}

Tensor gather(const Tensor& matrix, const Tensor& rows) {
  const Device device = matrix.device();
  const std::int64_t count = rows.numel();
  const std::int64_t width = matrix.shape()[1];
  Tensor out = empty({count, width}, matrix.dtype(), device);
  const DeviceGuard guard(device);
  visit_word(item_size(matrix.dtype()), [&]<class W>() {
    launch("index", gather_kernel<W>, grid_blocks(count * width), kGridThreads, 0, current_stream(device),
           static_cast<const W*>(matrix.raw_data()), rows.data<std::int64_t>(), count, width,
           static_cast<W*>(out.raw_data()));
  });
  return out;
}

/// Returns rows in ascending order, and their positions before sorting; `out_rows` is above all of them.
SortedPairs sorted_rows(const Tensor& rows, std::int64_t out_rows) {
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(out_rows - 1))));
  return sort_pairs(rows.data<std::int64_t>(), nullptr, rows.numel(), bits, rows.device(), "index");
}

Tensor scatter(const Tensor& matrix, const Tensor& rows, std::int64_t count) {
  const Tensor out = zeros(Dims{count, matrix.shape()[1]}, matrix.dtype(), matrix.device());
  const DeviceGuard guard(matrix.device());
  combine_runs(PickAction::Add, matrix, sorted_rows(rows, count), matrix.shape()[1], out, true, "index");
  return out;
}

void put(const Tensor& matrix, const Tensor& rows, const Tensor& values) {
  const Device device = matrix.device();
  const std::int64_t count = rows.numel();
  const std::int64_t width = matrix.shape()[1];
  const DeviceGuard guard(device);
  const SortedPairs sorted = sorted_rows(rows, matrix.shape()[0]);
  visit_word(item_size(matrix.dtype()), [&]<class W>() {
    launch("index", put_kernel<W>, grid_blocks(count * width), kGridThreads, 0, current_stream(device),
           static_cast<const W*>(values.raw_data()), sorted.keys.data<std::int64_t>(),
           sorted.values.data<std::int64_t>(), count, width, static_cast<W*>(matrix.raw_data()));
  });
}

void combine(PickAction action, const Tensor& x, const Tensor& places, const Tensor& values) {
  if (action == PickAction::Write) {
    const auto column = [](const Tensor& t) { return make_view(t, Dims{t.numel(), 1}, Dims{1, 1}); };
    return put(column(x), places, column(values));
  }
  const DeviceGuard guard(x.device());
  combine_runs(action, values, sorted_rows(places, x.numel()), 1, x, false, "scatter");
}

[[maybe_unused]] const bool kRowsRegistered =
    register_kernel<&DeviceKernels::gather_rows>(DeviceType::CUDA, gather) &&
    register_kernel<&DeviceKernels::scatter_rows>(DeviceType::CUDA, scatter) &&
    register_kernel<&DeviceKernels::put_rows>(DeviceType::CUDA, put) &&
    register_kernel<&DeviceKernels::combine_elements>(DeviceType::CUDA, combine);

}  // namespace
}  // namespace lamella::cuda
