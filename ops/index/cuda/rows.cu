#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cpu/tables/index_loops.h"
#include "ops/creation/creation.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/pack.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

template <class W>
__global__ void __launch_bounds__(kGridThreads)
    gather_kernel(const W* x, const std::int64_t* rows, std::int64_t count, std::int64_t width, W* out) {
  for_each_element(count * width, [&](std::int64_t i) { out[i] = x[rows[i / width] * width + i % width]; });
}

__global__ void __launch_bounds__(kGridThreads) number_kernel(std::int64_t count, std::int64_t* numbers) {
  for_each_element(count, [&](std::int64_t i) { numbers[i] = i; });
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

/// Calls f.operator()<W>() with the word type of an element.
template <class F>
void visit_word(DType dtype, F&& f) {
  switch (item_size(dtype)) {
    case 1:
      return f.template operator()<Word<1>>();
    case 2:
      return f.template operator()<Word<2>>();
    case 4:
      return f.template operator()<Word<4>>();
    case 8:
      return f.template operator()<Word<8>>();
    default:
      return f.template operator()<Word<16>>();
  }
}

Tensor gather(const Tensor& matrix, const Tensor& rows) {
  const Device device = matrix.device();
  const std::int64_t count = rows.numel();
  const std::int64_t width = matrix.shape()[1];
  Tensor out = empty({count, width}, matrix.dtype(), device);
  const DeviceGuard guard(device);
  visit_word(matrix.dtype(), [&]<class W>() {
    launch("index", gather_kernel<W>, grid_blocks(count * width), kGridThreads, 0, current_stream(device),
           static_cast<const W*>(matrix.raw_data()), rows.data<std::int64_t>(), count, width,
           static_cast<W*>(out.raw_data()));
  });
  return out;
}

/// Rows sorted in ascending order, and their positions before sorting; the sort is stable.
struct Sorted {
  Tensor rows;
  Tensor picks;

  Sorted(Device device, const std::int64_t* given, std::int64_t count, std::int64_t out_rows)
      : rows(empty({count}, DType::Int64, device)), picks(empty({count}, DType::Int64, device)) {
    const cudaStream_t stream = current_stream(device);
    const Tensor numbers = empty({count}, DType::Int64, device);
    launch("index", number_kernel, grid_blocks(count), kGridThreads, 0, stream, count, numbers.data<std::int64_t>());
    const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(out_rows - 1))));
    std::size_t bytes = 0;
    const auto sort = [&](void* scratch) {
      check(cub::DeviceRadixSort::SortPairs(scratch, bytes, given, rows.data<std::int64_t>(),
                                            numbers.data<std::int64_t>(), picks.data<std::int64_t>(), count, 0, bits,
                                            stream),
            "index");
    };
    sort(nullptr);  // queries the size of the scratch memory
    const Tensor scratch = empty({static_cast<std::int64_t>(bytes)}, DType::UInt8, device);
    sort(scratch.raw_data());
  }
};

Tensor scatter(const Tensor& matrix, const Tensor& rows, std::int64_t count) {
  const Device device = matrix.device();
  const std::int64_t picks = rows.numel();
  const std::int64_t width = matrix.shape()[1];
  Tensor out = zeros(Dims{count, width}, matrix.dtype(), device);
  const DeviceGuard guard(device);
  const Sorted sorted(device, rows.data<std::int64_t>(), picks, count);
  visit<AnyDType>(matrix.dtype(), "index", [&]<class T>() {
    launch("index", scatter_kernel<T>, grid_blocks(picks * width), kGridThreads, 0, current_stream(device),
           matrix.data<T>(), sorted.rows.data<std::int64_t>(), sorted.picks.data<std::int64_t>(), picks, width,
           out.data<T>());
  });
  return out;
}

void put(const Tensor& matrix, const Tensor& rows, const Tensor& values) {
  const Device device = matrix.device();
  const std::int64_t count = rows.numel();
  const std::int64_t width = matrix.shape()[1];
  const DeviceGuard guard(device);
  const Sorted sorted(device, rows.data<std::int64_t>(), count, matrix.shape()[0]);
  visit_word(matrix.dtype(), [&]<class W>() {
    launch("index", put_kernel<W>, grid_blocks(count * width), kGridThreads, 0, current_stream(device),
           static_cast<const W*>(values.raw_data()), sorted.rows.data<std::int64_t>(),
           sorted.picks.data<std::int64_t>(), count, width, static_cast<W*>(matrix.raw_data()));
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
  const Sorted sorted(device, places.data<std::int64_t>(), count, x.numel());
  visit<AnyDType>(x.dtype(), "scatter", [&]<class T>() {
    launch("scatter", combine_kernel<T>, grid_blocks(count), kGridThreads, 0, current_stream(device), action,
           values.data<T>(), sorted.rows.data<std::int64_t>(), sorted.picks.data<std::int64_t>(), count, x.data<T>());
  });
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::gather_rows>(DeviceType::CUDA, gather) &&
                                          register_kernel<&DeviceKernels::scatter_rows>(DeviceType::CUDA, scatter) &&
                                          register_kernel<&DeviceKernels::put_rows>(DeviceType::CUDA, put) &&
                                          register_kernel<&DeviceKernels::combine_elements>(DeviceType::CUDA, combine);

}  // namespace
}  // namespace lamella::cuda
