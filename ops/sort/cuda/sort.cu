#include <algorithm>
#include <bit>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/sort_pairs.h"
#include "ops/sort/cuda/row_keys.h"
#include "ops/sort/cuda/sort.h"
#include "ops/support/device_kernels.h"

// Short rows are sorted in shared memory by K. E. Batcher's bitonic network ("Sorting networks and their applications",
// 1968), as pairs of key and position, of which no two are equal. All elements of longer rows are sorted at once by
// digits, with the number of the row in front of the key where both fit into a word, else once more by the row.

namespace lamella::cuda {
namespace {

/// Number of elements that a block sorts: of one row, or of several.
constexpr std::uint32_t kItems = 2048;
static_assert(kItems == kLongestInBlock);

/// `width` is a power of two that is not below n; writes the first k positions of each row.
__global__ void __launch_bounds__(kGridThreads)
    short_rows_kernel(const RowKeys x, const std::int64_t rows, const std::uint32_t n, const std::uint32_t width,
                      const std::uint32_t k, std::int64_t* positions) {
  __shared__ std::uint64_t keys[kItems];
  __shared__ std::uint32_t places[kItems];
  const std::int64_t first = std::int64_t{blockIdx.x} * (kItems / width);
  for (std::uint32_t j = threadIdx.x; j < kItems; j += kGridThreads) {
    const std::int64_t row = first + j / width;
    const std::uint32_t place = j % width;
    // Places behind the row sort last: of equal keys theirs are the highest positions.
    keys[j] = row < rows && place < n ? x.at(row * n + place) : ~std::uint64_t{0};
    places[j] = place;
  }
  for (std::uint32_t size = 2; size <= width; size *= 2) {
    for (std::uint32_t distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (std::uint32_t pair = threadIdx.x; pair < kItems / 2; pair += kGridThreads) {
        const std::uint32_t low = 2 * pair - (pair & (distance - 1));
        const std::uint32_t high = low + distance;
        const bool ascending = ((low & (width - 1)) & size) == 0;
        const bool ordered = keys[low] < keys[high] || (keys[low] == keys[high] && places[low] < places[high]);
        if (ordered == ascending) continue;
        const std::uint64_t key = keys[low];
        keys[low] = keys[high];
        keys[high] = key;
        const std::uint32_t place = places[low];
        places[low] = places[high];
        places[high] = place;
      }
    }
  }
  __syncthreads();
  for (std::uint32_t j = threadIdx.x; j < kItems; j += kGridThreads) {
    const std::int64_t row = first + j / width;
    const std::uint32_t place = j % width;
    if (row < rows && place < k) positions[row * k + place] = places[j];
  }
}

/// Writes the keys of all elements, with the number of the row in front of those of less than 64 bits.
__global__ void __launch_bounds__(kGridThreads)
    long_keys_kernel(const RowKeys x, const std::int64_t elements, const std::int64_t n, std::int64_t* keys) {
  for_each_element(elements, [&](std::int64_t i) {
    const std::uint64_t key = x.at(i);
    // The sort takes the highest bit for a sign.
    const std::uint64_t bits =
        x.bits == 64 ? key ^ (std::uint64_t{1} << 63) : key | static_cast<std::uint64_t>(i / n) << x.bits;
    keys[i] = static_cast<std::int64_t>(bits);
  });
}

__global__ void __launch_bounds__(kGridThreads)
    row_numbers_kernel(const std::int64_t* order, const std::int64_t elements, const std::int64_t n,
                       std::int64_t* numbers) {
  for_each_element(elements, [&](std::int64_t i) { numbers[i] = order[i] / n; });
}

/// Writes the first k positions of each row.
__global__ void __launch_bounds__(kGridThreads)
    positions_kernel(const std::int64_t* order, const std::int64_t rows, const std::int64_t n, const std::int64_t k,
                     std::int64_t* positions) {
  for_each_element(rows * k, [&](std::int64_t i) {
    const std::int64_t row = i / k;
    positions[i] = order[row * n + i % k] - row * n;
  });
}

void sort_short_rows(const RowKeys& x, std::int64_t rows, std::int64_t n, std::int64_t k, const Tensor& positions,
                     const char* op) {
  const auto length = static_cast<std::uint32_t>(n);
  const std::uint32_t width = std::bit_ceil(length);
  const std::int64_t per_block = kItems / width;
  launch(op, short_rows_kernel, static_cast<unsigned>((rows + per_block - 1) / per_block), kGridThreads, 0,
         current_stream(positions.device()), x, rows, length, width, static_cast<std::uint32_t>(k),
         positions.data<std::int64_t>());
}

void sort_long_rows(const RowKeys& x, std::int64_t rows, std::int64_t n, std::int64_t k, const Tensor& positions,
                    const char* op) {
  const Device device = positions.device();
  const cudaStream_t stream = current_stream(device);
  const std::int64_t elements = rows * n;
  const Tensor keys = empty({elements}, DType::Int64, device);
  auto* const key = keys.data<std::int64_t>();
  launch(op, long_keys_kernel, grid_blocks(elements), kGridThreads, 0, stream, x, elements, n, key);
  const int row_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1)));
  const bool together = x.bits + row_bits < 64;
  SortedPairs sorted = sort_pairs(key, nullptr, elements, x.bits + (together ? row_bits : 0), device, op);
  if (!together && rows > 1) {
    const auto* const order = sorted.values.data<std::int64_t>();
    launch(op, row_numbers_kernel, grid_blocks(elements), kGridThreads, 0, stream, order, elements, n, key);
    sorted = sort_pairs(key, order, elements, row_bits, device, op);
  }
  launch(op, positions_kernel, grid_blocks(rows * k), kGridThreads, 0, stream, sorted.values.data<std::int64_t>(), rows,
         n, k, positions.data<std::int64_t>());
}

void sort_all(const Tensor& x, bool descending, const Tensor& positions, const char* op) {
  first_in_order(x, row_length(x), descending, positions, op);
}

[[maybe_unused]] const bool kSortRegistered =
    register_kernel<&DeviceKernels::sort_positions>(DeviceType::CUDA, sort_all);

}  // namespace

void first_in_order(const Tensor& x, std::int64_t k, bool descending, const Tensor& positions, const char* op) {
  const DeviceGuard guard(x.device());
  const std::int64_t n = row_length(x);
  const RowKeys keys{x.raw_data(), x.dtype(), descending};
  const auto sort = n <= kLongestInBlock ? sort_short_rows : sort_long_rows;
  sort(keys, x.numel() / n, n, k, positions, op);
}

}  // namespace lamella::cuda
