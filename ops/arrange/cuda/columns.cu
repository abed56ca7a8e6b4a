#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/windows.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/item_type.h"

namespace lamella::cuda {
namespace {

constexpr DTypeSet kSums = Differentiable | DTypeSet{DType::UInt64};

/// Copies the taps of a position, in a thread of its own. W has the size of an element.
template <class W>
__global__ void __launch_bounds__(kGridThreads)
    unfold_kernel(const __grid_constant__ ImageWindows windows, const __grid_constant__ ColumnSteps steps,
                  const W* images, W* columns, std::int64_t pixels, std::int64_t taps) {
  const std::int64_t count = steps.position_count;
  for_each_element(steps.images * steps.channels * count, [&](std::int64_t i) {
    const std::int64_t position = i % count;
    const std::int64_t channel = i / count % steps.channels;
    const std::int64_t image = i / count / steps.channels;
    const W* const from = images + image * steps.image_step + channel * pixels;
    W* const to = columns + image * steps.of_image + channel * steps.of_channel + position * steps.of_position;
    std::int64_t next = 0;
    const auto skip_to = [&](std::int64_t end) {
      for (; next < end; ++next) to[next * steps.of_tap] = W();
    };
    for_each_tap(windows, Index3(steps.first_position + position, windows.out),
                 [&](std::int64_t tap, std::int64_t pixel) {
                   skip_to(tap);
                   to[next++ * steps.of_tap] = from[pixel];
                 });
    skip_to(taps);
  });
}

/// Sums the column elements of a pixel, in a thread of its own and in the order of the taps.
template <class C, class T>
__global__ void __launch_bounds__(kGridThreads)
    fold_kernel(const __grid_constant__ ContainingWindows windows, const __grid_constant__ ColumnSteps steps,
                ImageWindows::Sizes in, const C* columns, T* images, std::int64_t pixels) {
  for_each_element(steps.images * steps.channels * pixels, [&](std::int64_t i) {
    const std::int64_t pixel = i % pixels;
    const std::int64_t channel = i / pixels % steps.channels;
    const std::int64_t image = i / pixels / steps.channels;
    const C* const from = columns + image * steps.of_image + channel * steps.of_channel;
    auto sum = widened<Wide<C>>(C(0.0F));
    windows.for_each(Index3(pixel, in), [&](std::int64_t tap, std::int64_t position) {
      sum = plus(sum, widened<Wide<C>>(from[tap * steps.of_tap + position * steps.of_position]));
    });
    images[image * steps.image_step + channel * pixels + pixel] = rounded<T>(sum);
  });
}

void unfold(const ImageWindows& windows, const ColumnSteps& steps, const Tensor& images, const Tensor& columns,
            const char* op) {
  const Device device = images.device();
  const DeviceGuard guard(device);
  visit_item(images.dtype(), [&]<class W>() {
    launch(op, unfold_kernel<W>, grid_blocks(steps.images * steps.channels * steps.position_count), kGridThreads, 0,
           current_stream(device), windows, steps, static_cast<const W*>(images.raw_data()),
           static_cast<W*>(columns.raw_data()), windows.pixels(), windows.taps());
  });
}

void fold(const ImageWindows& windows, const ColumnSteps& steps, const Tensor& columns, const Tensor& images,
          const char* op) {
  const Device device = images.device();
  const DeviceGuard guard(device);
  const std::int64_t pixels = windows.pixels();
  const auto run = [&]<class C, class T>(C, T) {
    launch(op, fold_kernel<C, T>, grid_blocks(steps.images * steps.channels * pixels), kGridThreads, 0,
           current_stream(device), ContainingWindows(windows), steps, windows.in, columns.data<C>(), images.data<T>(),
           pixels);
  };
  visit<kSums>(images.dtype(), op, [&]<class T>() {
    if constexpr (kIsHalf<T>) {
      if (columns.dtype() == DType::Float32) return run(0.0F, T(0.0F));
    }
    run(T(0.0F), T(0.0F));
  });
}

[[maybe_unused]] const bool kColumnsRegistered = register_kernel<&DeviceKernels::unfold>(DeviceType::CUDA, unfold) &&
                                                 register_kernel<&DeviceKernels::fold>(DeviceType::CUDA, fold);

}  // namespace
}  // namespace lamella::cuda
