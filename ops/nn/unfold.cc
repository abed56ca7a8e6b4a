#include "ops/nn/unfold.h"

#include <algorithm>
#include <cstring>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/item_type.h"
#include "ops/support/layer.h"
#include "ops/support/windows.h"

namespace lamella {
namespace {

/// The windows along one axis.
struct WindowAxis {
  std::int64_t size;    ///< size of the image
  std::int64_t kernel;  ///< elements of a window
  std::int64_t dilation;
  std::int64_t padding;
  std::int64_t stride;
  std::int64_t places = 0;

  /// The positions [first, last) whose element k of the window is inside the image.
  std::int64_t first(std::int64_t k) const {
    const std::int64_t before = padding - k * dilation;
    return before <= 0 ? 0 : std::min(places, (before + stride - 1) / stride);
  }
  std::int64_t last(std::int64_t k) const {
    const std::int64_t beyond = size + padding - k * dilation;
    return beyond <= 0 ? 0 : std::min(places, (beyond + stride - 1) / stride);
  }
};

struct Windows {
  WindowAxis y;
  WindowAxis x;

  std::int64_t window() const { return y.kernel * x.kernel; }
  std::int64_t places() const { return y.places * x.places; }
  std::int64_t pixels() const { return y.size * x.size; }

  ImageWindows of_images() const {
    return {.in = {1, y.size, x.size},
            .kernel = {1, y.kernel, x.kernel},
            .out = {1, y.places, x.places},
            .stride = {1, y.stride, x.stride},
            .dilation = {1, y.dilation, x.dilation},
            .pad = {0, y.padding, x.padding}};
  }
};

std::int64_t size_for(const Dims& sizes, std::size_t axis, const char* op, const char* what) {
  if (sizes.size() == 1) return sizes[0];
  if (sizes.size() == 2) return sizes[axis];
  fail<ValueError>("[", op, "] ", what, " must be one number or two, got ", sizes.size());
}

Windows make_windows(std::int64_t height, std::int64_t width, const Dims& kernel, const Dims& dilation,
                     const Dims& padding, const Dims& stride, const char* op) {
  const auto axis = [&](std::size_t i, std::int64_t size) {
    WindowAxis a{size, size_for(kernel, i, op, "kernel_size"), size_for(dilation, i, op, "dilation"),
                 size_for(padding, i, op, "padding"), size_for(stride, i, op, "stride")};
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    if (a.kernel < 1 || a.dilation < 1 || a.stride < 1 || a.padding < 0 ||
        std::max({a.kernel, a.dilation, a.stride, a.padding}) > kMost) {
      fail<ValueError>("[", op, "] kernel_size, dilation and stride must be above 0, padding not below; got ", kernel,
                       ", ", dilation, ", ", stride, " and ", padding);
    }
    const std::int64_t room = size + 2 * a.padding - a.dilation * (a.kernel - 1) - 1;
    if (room < 0) {
      fail<ValueError>("[", op, "] a window of ", a.kernel, " elements, ", a.dilation, " apart, does not fit into ",
                       size, " with a padding of ", a.padding);
    }
    a.places = room / a.stride + 1;
    return a;
  };
  const Windows windows{axis(0, height), axis(1, width)};
  static_cast<void>(
      count_elements(Dims{windows.y.kernel, windows.x.kernel}));  // throws ValueError if their product overflows
  static_cast<void>(count_elements(Dims{windows.y.places, windows.x.places}));
  return windows;
}

/// Calls f(column, pixel, count): `count` positions from `column` on correspond to pixels from `pixel` on, one stride
/// apart. All within one channel, in order.
template <class F>
void for_each_run(const Windows& w, F&& f) {
  for (std::int64_t ky = 0; ky < w.y.kernel; ++ky) {
    for (std::int64_t kx = 0; kx < w.x.kernel; ++kx) {
      const std::int64_t row = (ky * w.x.kernel + kx) * w.places();
      const std::int64_t first = w.x.first(kx);
      const std::int64_t count = w.x.last(kx) - first;
      if (count <= 0) continue;
      for (std::int64_t py = w.y.first(ky); py < w.y.last(ky); ++py) {
        const std::int64_t iy = py * w.y.stride - w.y.padding + ky * w.y.dilation;
        const std::int64_t ix = first * w.x.stride - w.x.padding + kx * w.x.dilation;
        f(row + py * w.x.places + first, iy * w.x.size + ix, count);
      }
    }
  }
}

template <class T>
void unfold_channel(const T* image, T* columns, const Windows& w) {
  std::fill_n(columns, w.window() * w.places(), T());
  for_each_run(w, [&](std::int64_t column, std::int64_t pixel, std::int64_t count) {
    if (w.x.stride == 1) {
      std::copy_n(image + pixel, count, columns + column);
    } else {
      for (std::int64_t i = 0; i < count; ++i) columns[column + i] = image[pixel + i * w.x.stride];
    }
  });
}

template <class T>
void fold_channel(const T* columns, T* image, const Windows& w) {
  std::fill_n(image, w.pixels(), T(0));
  for_each_run(w, [&](std::int64_t column, std::int64_t pixel, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) image[pixel + i * w.x.stride] += columns[column + i];
  });
}

/// The dtypes in which columns are summed.
constexpr DTypeSet kSums = DTypeSet{DType::UInt64, DType::Float32, DType::Float64} | Complex;

/// Calls convert(i) for each of `count` planes.
template <class F>
void for_each_plane(std::int64_t count, std::int64_t elements, const F& convert) {
  const HostRelease release(count * elements);
  parallel_for(0, count, std::max<std::int64_t>(1, kElementGrain / elements),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) convert(i);
               });
}

/// x is [.., channels, height, width] to unfold, [.., channels * window, places] to fold; the leading axes stay.
Tensor run(const Tensor& given, const Windows& w, bool unfolding, const char* op) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return run(shown, w, unfolding, op); }, given);
  if (!unfolding && !kSums.contains(given.dtype())) {
    const DType wide = is_integral(given.dtype()) ? DType::UInt64 : DType::Float32;
    return cast(run(cast(given, wide), w, unfolding, op), given.dtype());
  }
  const Tensor x = contiguous(given);
  Dims shape = x.shape();
  const std::size_t axis = shape.size() - (unfolding ? 3 : 2);
  if (unfolding) static_cast<void>(count_elements(Dims{shape[axis], w.window(), w.places()}));
  const std::int64_t channels = unfolding ? shape[axis] : shape[axis] / w.window();
  shape.resize(axis);
  for (const std::int64_t size :
       unfolding ? Dims{channels * w.window(), w.places()} : Dims{channels, w.y.size, w.x.size})
    shape.push_back(size);
  Tensor out = empty(shape, x.dtype(), x.device());
  if (out.device().is_meta() || out.numel() == 0) return out;
  const std::int64_t elements = std::max<std::int64_t>(1, w.window() * w.places());
  const std::int64_t planes = out.numel() / (unfolding ? elements : w.pixels());
  if (!x.device().is_cpu()) {
    if (!has_device_kernel<&DeviceKernels::unfold>(x.device()))
      return on_host(op, x.device(), [&](const Tensor& host) { return run(host, w, unfolding, op); }, x);
    const auto kernel = unfolding ? device_kernel<&DeviceKernels::unfold>(x.device(), op)
                                  : device_kernel<&DeviceKernels::fold>(x.device(), op);
    const ImageWindows windows = w.of_images();
    kernel(windows, contiguous_columns(windows, 1, planes), x, out, op);
    return out;
  }
  const void* const from = x.raw_data();
  void* const to = out.raw_data();
  if (unfolding) {
    visit_item(x.dtype(), [&]<class T> {
      for_each_plane(planes, elements, [&](std::int64_t i) {
        unfold_channel(static_cast<const T*>(from) + i * w.pixels(), static_cast<T*>(to) + i * elements, w);
      });
    });
  } else {
    visit<kSums>(x.dtype(), op, [&]<class T> {
      for_each_plane(planes, elements, [&](std::int64_t i) {
        fold_channel(static_cast<const T*>(from) + i * elements, static_cast<T*>(to) + i * w.pixels(), w);
      });
    });
  }
  return out;
}

/// Unfolding and folding; each is the other's transpose.
template <bool kUnfold>
struct WindowsFn : LinearOperatorLayer<WindowsFn<kUnfold>> {
  static constexpr const char* name = kUnfold ? "unfold" : "fold";

  static Tensor forward(Context& ctx, const Tensor& x, const Windows& windows) {
    if (ctx.recording()) ctx.template state<Windows>() = windows;
    return run(x, windows, kUnfold, name);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    return {WindowsFn<!kUnfold>::apply(dy, ctx.template state<Windows>())};
  }
};

}  // namespace

Tensor Unfold::call(const Tensor& x, const Dims& kernel_size, const Dims& dilation, const Dims& padding,
                    const Dims& stride) {
  check_defined(x, info.name);
  if (x.ndim() != 3 && x.ndim() != 4) {
    fail<ValueError>("[unfold] x must be [channels, height, width] or [images, channels, height, width], got ",
                     x.shape());
  }
  const Windows windows = make_windows(x.size(-2), x.size(-1), kernel_size, dilation, padding, stride, info.name);
  return WindowsFn<true>::apply(x, windows);
}

Tensor Fold::call(const Tensor& x, const Dims& output_size, const Dims& kernel_size, const Dims& dilation,
                  const Dims& padding, const Dims& stride) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (x.ndim() != 2 && x.ndim() != 3)
    fail<ValueError>("[fold] x must be [.., channels * window, places] with 2 or 3 axes, got ", x.shape());
  const Windows windows = make_windows(size_for(output_size, 0, info.name, "output_size"),
                                       size_for(output_size, 1, info.name, "output_size"), kernel_size, dilation,
                                       padding, stride, info.name);
  if (x.size(-2) % windows.window() != 0 || x.size(-1) != windows.places()) {
    fail<ValueError>("[fold] x must have a multiple of ", windows.window(), " rows and ", windows.places(),
                     " columns for these settings, got the shape ", x.shape());
  }
  return WindowsFn<false>::apply(x, windows);
}

Tensor PixelShuffle::call(const Tensor& x, std::int64_t upscale_factor) {
  check_defined(x, info.name);
  const std::int64_t r = upscale_factor;
  if (x.ndim() < 3) fail<ValueError>("[pixel_shuffle] x must be [.., channels, height, width], got ", x.shape());
  if (r < 1 || r > 65536 || x.size(-3) % (r * r) != 0) {
    fail<ValueError>("[pixel_shuffle] the channels must be a multiple of upscale_factor squared, got ", x.size(-3),
                     " and ", r);
  }
  const std::int64_t channels = x.size(-3) / (r * r);
  const std::int64_t height = x.size(-2);
  const std::int64_t width = x.size(-1);
  Dims out(x.shape().begin(), x.shape().end() - 3);
  const std::int64_t images = count_elements(out);
  const Tensor split = reshape(x, Dims{images, channels, r, r, height, width});
  for (const std::int64_t size : {channels, height * r, width * r}) out.push_back(size);
  return reshape(permute_dims(split, Dims{0, 1, 4, 2, 5, 3}), out);
}

Tensor PixelUnshuffle::call(const Tensor& x, std::int64_t downscale_factor) {
  check_defined(x, info.name);
  const std::int64_t r = downscale_factor;
  if (x.ndim() < 3) fail<ValueError>("[pixel_unshuffle] x must be [.., channels, height, width], got ", x.shape());
  if (r < 1 || r > 65536 || x.size(-2) % r != 0 || x.size(-1) % r != 0) {
    fail<ValueError>("[pixel_unshuffle] height and width must be multiples of downscale_factor, got ", x.size(-2), ", ",
                     x.size(-1), " and ", r);
  }
  const std::int64_t channels = x.size(-3);
  const std::int64_t height = x.size(-2) / r;
  const std::int64_t width = x.size(-1) / r;
  Dims out(x.shape().begin(), x.shape().end() - 3);
  const std::int64_t images = count_elements(out);
  const Tensor split = reshape(x, Dims{images, channels, height, r, width, r});
  for (const std::int64_t size : {channels * r * r, height, width}) out.push_back(size);
  return reshape(permute_dims(split, Dims{0, 1, 3, 5, 2, 4}), out);
}

}  // namespace lamella
