#include "ops/cuda/sort_pairs.h"

#include <cub/device/device_radix_sort.cuh>

#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"

namespace lamella::cuda {
namespace {

__global__ void __launch_bounds__(kGridThreads) number_kernel(std::int64_t count, std::int64_t* numbers) {
  for_each_element(count, [&](std::int64_t i) { numbers[i] = i; });
}

}  // namespace

SortedPairs sort_pairs(const std::int64_t* keys, const std::int64_t* values, std::int64_t count, int bits,
                       Device device, const char* op) {
  const cudaStream_t stream = current_stream(device);
  SortedPairs sorted{empty({count}, DType::Int64, device), empty({count}, DType::Int64, device)};
  Tensor numbers;
  if (!values) {
    numbers = empty({count}, DType::Int64, device);
    launch(op, number_kernel, grid_blocks(count), kGridThreads, 0, stream, count, numbers.data<std::int64_t>());
    values = numbers.data<std::int64_t>();
  }
  std::size_t bytes = 0;
  const auto sort = [&](void* scratch) {
    check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted.keys.data<std::int64_t>(), values,
                                          sorted.values.data<std::int64_t>(), count, 0, bits, stream),
          op);
  };
  sort(nullptr);  // queries the size of the scratch memory
  const Tensor scratch = empty({static_cast<std::int64_t>(bytes)}, DType::UInt8, device);
  sort(scratch.raw_data());
  return sorted;
}

}  // namespace lamella::cuda
