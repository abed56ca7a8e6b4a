#include <algorithm>
#include <bit>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cpu/tables/index_loops.h"
#include "ops/creation/creation.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/sort_pairs.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

template <class W>
__global__ void __launch_bounds__(kGridThreads)
    gather_kernel(const W* x, const std::int64_t* rows, std::int64_t count, std::int64_t width, W* out) {
  for_each_element(count * width, [&](std::int64_t i) { out[i] = x[rows[i / width] * width + i % width]; });
}

/// Sums each run of equal `rows`, which are sorted, for each column in a thread of its own. It adds in the order of
/// `picks`, the positions of the rows before sorting.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    scatter_kernel(const T* x, const std::int64_t* rows, const std::int64_t* picks, std::int64_t count,
                   std::int64_t width, T* out) {
  for_each_element(count * width, [&](std::int64_t i) {
    const std::int64_t column = i % width;
    std::int64_t at = i / width;
    const std::int64_t row = rows[at];
    if (at > 0 && rows[at - 1] == row) return;
    auto sum = widened<Wide<T>>(x[picks[at] * width + column]);
    for (++at; at < count && rows[at] == row; ++at) sum = plus(sum, widened<Wide<T>>(x[picks[at] * width + column]));
    out[row * width + column] = rounded<T>(sum);
  });
}

/// Writes the last row of each run of equal `rows`, which are sorted with the positions `picks` before sorting.
template <class W>
__global__ void __launch_bounds__(kGridThreads)
    put_kernel(const W* values, const std::int64_t* rows, const std::int64_t* picks, std::int64_t count,
               std::int64_t width, W* out) {
  for_each_element(count * width, [&](std::int64_t i) {
    const std::int64_t at = i / width;
    if (at + 1 < count && rows[at + 1] == rows[at]) return;
    out[rows[at] * width + i % width] = values[picks[at] * width + i % width];
  });
}

/// Returns action(a, b) for an action that combines two elements.
template <class T, class Sum>
__device__ Sum combined(PickAction action, Sum a, Sum b) {
  if constexpr (!kIsComplex<T>) {
    if (action == PickAction::Max) return a != a || a > b ? a : b;
    if (action == PickAction::Min) return a != a || a < b ? a : b;
  }
  return action == PickAction::Multiply ? times(a, b) : plus(a, b);
}

/// Combines each element of x that `places` names, which are sorted, with its values, in the order of `picks`, the
/// positions of the places before sorting.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    combine_kernel(PickAction action, const T* values, const std::int64_t* places, const std::int64_t* picks,
                   std::int64_t count, T* x) {
  for_each_element(count, [&](std::int64_t i) {
    const std::int64_t place = places[i];
    if (i > 0 && places[i - 1] == place) return;
    auto result = widened<Wide<T>>(x[place]);
    for (std::int64_t at = i; at < count && places[at] == place; ++at)
      result = combined<T>(action, result, widened<Wide<T>>(values[picks[at]]));
    x[place] = rounded<T>(result);
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
  const Device device = matrix.device();
  const std::int64_t picks = rows.numel();
  const std::int64_t width = matrix.shape()[1];
  Tensor out = zeros(Dims{count, width}, matrix.dtype(), device);
  const DeviceGuard guard(device);
  const SortedPairs sorted = sorted_rows(rows, count);
  visit<AnyDType>(matrix.dtype(), "index", [&]<class T>() {
    launch("index", scatter_kernel<T>, grid_blocks(picks * width), kGridThreads, 0, current_stream(device),
           matrix.data<T>(), sorted.keys.data<std::int64_t>(), sorted.values.data<std::int64_t>(), picks, width,
           out.data<T>());
  });
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
  const Device device = x.device();
  const std::int64_t count = places.numel();
  if (action == PickAction::Write) {
    const auto column = [](const Tensor& t) { return make_view(t, Dims{t.numel(), 1}, Dims{1, 1}); };
    return put(column(x), places, column(values));
  }
  const DeviceGuard guard(device);
  const SortedPairs sorted = sorted_rows(places, x.numel());
  visit<AnyDType>(x.dtype(), "scatter", [&]<class T>() {
    launch("scatter", combine_kernel<T>, grid_blocks(count), kGridThreads, 0, current_stream(device), action,
           values.data<T>(), sorted.keys.data<std::int64_t>(), sorted.values.data<std::int64_t>(), count, x.data<T>());
  });
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::gather_rows>(DeviceType::CUDA, gather) &&
                                          register_kernel<&DeviceKernels::scatter_rows>(DeviceType::CUDA, scatter) &&
                                          register_kernel<&DeviceKernels::put_rows>(DeviceType::CUDA, put) &&
                                          register_kernel<&DeviceKernels::combine_elements>(DeviceType::CUDA, combine);

}  // namespace
}  // namespace lamella::cuda
