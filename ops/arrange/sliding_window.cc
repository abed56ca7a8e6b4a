#include "ops/arrange/sliding_window.h"

#include <algorithm>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/arrange/arrange.h"
#include "ops/creation/creation.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/windows.h"

namespace lamella {
namespace {

constexpr const char* kName = "overlap_add";

template <class T>
void add_to(T* to, const T* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
}

Tensor added(const Tensor& given, std::int64_t step, std::int64_t length) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return added(shown, step, length); }, given);
  const std::int64_t windows = given.size(-2);
  const std::int64_t size = given.size(-1);
  Dims shape(given.shape().begin(), given.shape().end() - 2);
  shape.push_back(length);
  const Device device = given.device();
  if (device.is_meta() || given.numel() == 0 || count_elements(shape) == 0) return zeros(shape, given.dtype(), device);
  if (has_device_kernel<&DeviceKernels::fold>(device)) {
    Tensor y = empty(shape, given.dtype(), device);
    const ImageWindows places{
        .in = {1, 1, length}, .kernel = {1, 1, size}, .out = {1, 1, windows}, .stride = {1, 1, step}};
    ColumnSteps steps = contiguous_columns(places, y.numel() / length, 1);
    steps.of_tap = 1;
    steps.of_position = size;
    device_kernel<&DeviceKernels::fold>(device, kName)(places, steps, contiguous(given), y, kName);
    return y;
  }
  if (!device.is_cpu())
    return on_host(kName, device, [&](const Tensor& host) { return added(host, step, length); }, given);
  if (is_half(given.dtype())) return cast(added(cast(given, DType::Float32), step, length), given.dtype());
  Tensor y = zeros(shape, given.dtype(), device);
  const Tensor x = contiguous(given);
  const HostRelease release(x.numel());
  // A task is a range of a row, with all windows that reach into it.
  const std::int64_t parts = (length + kElementGrain - 1) / kElementGrain;
  visit<DTypeSet{DType::Float32, DType::Float64} | Complex>(y.dtype(), kName, [&]<class T> {
    parallel_for(0, y.numel() / length * parts, std::max<std::int64_t>(1, kElementGrain / length),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const T* const from = x.data<T>() + i / parts * windows * size;
                     T* const to = y.data<T>() + i / parts * length;
                     const std::int64_t first = i % parts * kElementGrain;
                     const std::int64_t last = std::min(length, first + kElementGrain);
                     const std::int64_t reaching = std::max<std::int64_t>(0, (first - size) / step + 1);
                     for (std::int64_t w = first < size ? 0 : reaching; w < windows && w * step < last; ++w) {
                       const std::int64_t low = std::max(first, w * step);
                       const std::int64_t high = std::min(last, w * step + size);
                       if (low < high) add_to(to + low, from + w * size + low - w * step, high - low);
                     }
                   }
                 });
  });
  return y;
}

struct Overlap {
  std::int64_t size = 0;
  std::int64_t step = 0;
};

struct OverlapLayer : LinearOperatorLayer<OverlapLayer> {
  static constexpr std::string_view name = kName;

  static Tensor forward(Context& ctx, const Tensor& x, std::int64_t step, std::int64_t length) {
    if (ctx.recording()) ctx.state<Overlap>() = {x.size(-1), step};
    return added(x, step, length);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [size, step] = ctx.state<Overlap>();
    return SlidingWindow::call(dy, -1, size, step);
  }
};

struct Windows {
  std::int64_t axis = 0;
  std::int64_t size = 0;
  std::int64_t step = 1;
  Dims shape;  ///< shape of the tensor
};

struct SlidingWindowLayer : LinearOperatorLayer<SlidingWindowLayer> {
  static constexpr std::string_view name = "sliding_window";

  static Tensor forward(Context& ctx, const Tensor& x, const Windows& windows) {
    if (ctx.recording()) ctx.state<Windows>() = windows;
    Dims shape = x.shape();
    Dims strides(x.strides().begin(), x.strides().end());
    if (x.ndim() == 0) {
      shape = {windows.size};
      strides = {1};
    } else {
      const auto at = static_cast<std::size_t>(windows.axis);
      shape[at] = (shape[at] - windows.size) / windows.step + 1;
      shape.push_back(windows.size);
      strides.push_back(strides[at]);
      strides[at] *= windows.step;
    }
    return make_view(x, shape, strides);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto& [axis, size, step, shape] = ctx.state<Windows>();
    if (shape.empty()) return reshape(dy, Dims{});
    const std::int64_t length = shape[static_cast<std::size_t>(axis)];
    if (axis + 1 == static_cast<std::int64_t>(shape.size())) return overlap_add(dy, step, length);
    return moveaxis(overlap_add(moveaxis(dy, Dims{axis}, Dims{-2}), step, length), Dims{-1}, Dims{axis});
  }
};

}  // namespace

Tensor SlidingWindow::call(const Tensor& x, std::int64_t axis, std::int64_t size, std::int64_t step) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis(axis, std::max<std::size_t>(1, x.ndim()), info.name);
  const std::int64_t length = x.ndim() == 0 ? 1 : x.size(at);
  if (size < 0 || size > length)
    fail<ValueError>("[sliding_window] windows of ", size, " elements do not fit into axis ", at, " of size ", length);
  if (step < 1) fail<ValueError>("[sliding_window] step must be at least 1, got ", step);
  return SlidingWindowLayer::apply(x, Windows{at, size, step, x.shape()});
}

Tensor overlap_add(const Tensor& x, std::int64_t step, std::int64_t length) {
  return OverlapLayer::apply(x, step, length);
}

}  // namespace lamella
