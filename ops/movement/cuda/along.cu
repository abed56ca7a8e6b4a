#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/pack.h"
#include "ops/support/device_kernels.h"
#include "ops/support/outer_inner.h"

namespace lamella::cuda {
namespace {

/// Writes to `flat` the index of x[..., positions[..., i, ...], ...] in memory, for x of n elements along the axis and
/// `count` positions along it.
__global__ void __launch_bounds__(kGridThreads)
    flat_kernel(const std::int64_t* positions, std::int64_t elements, std::int64_t count, std::int64_t n,
                std::int64_t inner, std::int64_t* flat) {
  for_each_element(elements,
                   [&](std::int64_t i) { flat[i] = (i / (count * inner) * n + positions[i]) * inner + i % inner; });
}

template <class W>
__global__ void __launch_bounds__(kGridThreads)
    pick_kernel(const W* x, const std::int64_t* positions, std::int64_t elements, std::int64_t count, std::int64_t n,
                std::int64_t inner, W* out) {
  for_each_element(elements,
                   [&](std::int64_t i) { out[i] = x[(i / (count * inner) * n + positions[i]) * inner + i % inner]; });
}

void pick(const Tensor& x, const Tensor& positions, std::int64_t axis, const Tensor& out) {
  const Device device = x.device();
  const DeviceGuard guard(device);
  const Along from(x.shape(), axis);
  const std::int64_t count = Along(positions.shape(), axis).n;
  visit_word(item_size(x.dtype()), [&]<class W>() {
    launch("pick_along", pick_kernel<W>, grid_blocks(out.numel()), kGridThreads, 0, current_stream(device),
           static_cast<const W*>(x.raw_data()), positions.data<std::int64_t>(), out.numel(), count, from.n, from.inner,
           static_cast<W*>(out.raw_data()));
  });
}

/// Adds as rows of one element are added, in an order that does not depend on what else runs.
Tensor place(const Tensor& x, const Tensor& positions, std::int64_t axis, const Dims& shape) {
  const Device device = x.device();
  const DeviceGuard guard(device);
  const Along to(shape, axis);
  const std::int64_t elements = x.numel();
  const Tensor flat = empty({elements}, DType::Int64, device);
  launch("place_along", flat_kernel, grid_blocks(elements), kGridThreads, 0, current_stream(device),
         positions.data<std::int64_t>(), elements, Along(positions.shape(), axis).n, to.n, to.inner,
         flat.data<std::int64_t>());
  const Dims matrix{elements, 1};
  Tensor sums = device_kernel<&DeviceKernels::scatter_rows>(device, "place_along")(
      make_view(x, matrix, contiguous_strides(matrix)), flat, to.outer * to.n * to.inner);
  sums->shape = shape;
  set_contiguous_strides(shape, sums->strides);
  return sums;
}

[[maybe_unused]] const bool kMovementAlongRegistered =
    register_kernel<&DeviceKernels::pick_along>(DeviceType::CUDA, pick) &&
    register_kernel<&DeviceKernels::place_along>(DeviceType::CUDA, place);

}  // namespace
}  // namespace lamella::cuda
