#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/support/device_kernels.h"
#include "ops/support/strided_loop.h"

namespace lamella::cuda {
namespace {

/// The axes of an index, and their strides in it and in the positions.
struct Axes {
  int count;
  int along;
  std::int64_t sizes[StridedLoop::kMaxAxes];
  std::int64_t index[StridedLoop::kMaxAxes];
  std::int64_t strides[StridedLoop::kMaxAxes];
};

__global__ void __launch_bounds__(kGridThreads)
    positions_kernel(const __grid_constant__ Axes axes, const std::int64_t* index, std::int64_t* positions,
                     std::int64_t count) {
  for_each_element(count, [&](std::int64_t i) {
    std::int64_t rest = i;
    std::int64_t from = 0;
    std::int64_t position = 0;
    for (int axis = axes.count - 1; axis >= 0; --axis) {
      const std::int64_t at = rest % axes.sizes[axis];
      rest /= axes.sizes[axis];
      from += at * axes.index[axis];
      if (axis != axes.along) position += at * axes.strides[axis];
    }
    const std::int64_t number = index[from];
    positions[i] = number < 0 ? -1 : position + number * axes.strides[axes.along];
  });
}

Tensor along_positions(const Tensor& index, std::size_t axis, const Dims& strides) {
  const Device device = index.device();
  Axes axes{};
  axes.count = static_cast<int>(index.ndim());
  axes.along = static_cast<int>(axis);
  std::ranges::copy(index.shape(), axes.sizes);
  std::ranges::copy(index.strides(), axes.index);
  std::ranges::copy(strides, axes.strides);
  Tensor positions = empty({index.numel()}, DType::Int64, device);
  const DeviceGuard guard(device);
  launch("index", positions_kernel, grid_blocks(index.numel()), kGridThreads, 0, current_stream(device), axes,
         index.data<std::int64_t>(), positions.data<std::int64_t>(), index.numel());
  return positions;
}

[[maybe_unused]] const bool kIndexAlongRegistered =
    register_kernel<&DeviceKernels::along_positions>(DeviceType::CUDA, along_positions);

}  // namespace
}  // namespace lamella::cuda
