#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "ops/cuda/wide_divide.h"
#include "ops/support/windows.h"

namespace lamella::cuda {

/// True if i is in [0, n).
__device__ inline bool is_inside(std::int32_t i, std::int32_t n) {
  return static_cast<std::uint32_t>(i) < static_cast<std::uint32_t>(n);
}

/// The index of an element of an image, or of a window, along each axis.
struct Index3 {
  std::int64_t d;
  std::int64_t h;
  std::int64_t w;

  __device__ Index3(std::int64_t d, std::int64_t h, std::int64_t w) : d(d), h(h), w(w) {}
  /// Splits a number in row-major order over the sizes.
  __device__ Index3(std::int64_t number, const ImageWindows::Sizes& sizes)
      : d(number / sizes[2] / sizes[1]), h(number / sizes[2] % sizes[1]), w(number % sizes[2]) {}
};

/// Splits the numbers of elements of planes, in row-major order, without divisions.
class PlaneSplit {
 public:
  /// The sizes are above 0.
  explicit PlaneSplit(const ImageWindows::Sizes& sizes) : d_(sizes[0]), h_(sizes[1]), w_(sizes[2]) {}

  struct Place {
    std::int64_t plane;
    Index3 index;
  };

  __device__ Place operator()(std::int64_t number) const {
    const std::int64_t row = w_.quotient(number);
    const std::int64_t slice = h_.quotient(row);
    const std::int64_t plane = d_.quotient(slice);
    return {plane, Index3(slice - plane * d_.divisor, row - slice * h_.divisor, number - row * w_.divisor)};
  }

 private:
  WideDivide d_;
  WideDivide h_;
  WideDivide w_;
};

/// The example and the position of a number in row-major order, which advances by equal steps without divisions.
class Walk {
 public:
  __device__ Walk(std::int64_t number, std::int64_t step, const ImageWindows::Sizes& sizes)
      : sizes_(sizes), step_(step, sizes), position_(number, sizes) {
    const std::int64_t positions = sizes[0] * sizes[1] * sizes[2];
    example_ = number / positions;
    position_.d %= sizes[0];
    examples_ = step / positions;
    step_.d %= sizes[0];
  }

  __device__ std::int64_t example() const { return example_; }
  __device__ const Index3& position() const { return position_; }

  __device__ void advance() {
    const bool w = add(position_.w, step_.w, sizes_[2]);
    const bool h = add(position_.h, step_.h + w, sizes_[1]);
    const bool d = add(position_.d, step_.d + h, sizes_[0]);
    example_ += examples_ + d;
  }

 private:
  /// Adds `step`, at most `size`, to a digit below it; returns true if that carries.
  __device__ static bool add(std::int64_t& digit, std::int64_t step, std::int64_t size) {
    digit += step;
    const bool carries = digit >= size;
    if (carries) digit -= size;
    return carries;
  }

  const ImageWindows::Sizes& sizes_;
  Index3 step_;
  Index3 position_;
  std::int64_t examples_;
  std::int64_t example_;
};

/// Calls f(tap, pixel) for the taps of the window at `position` that are inside the image, in order.
template <class F>
__device__ void for_each_tap(const ImageWindows& x, Index3 position, F&& f) {
  const std::int64_t d = position.d * x.stride[0] - x.pad[0];
  const std::int64_t h = position.h * x.stride[1] - x.pad[1];
  const std::int64_t w = position.w * x.stride[2] - x.pad[2];
  for (std::int64_t kd = 0; kd < x.kernel[0]; ++kd) {
    const std::int64_t id = d + kd * x.dilation[0];
    if (id < 0 || id >= x.in[0]) continue;
    for (std::int64_t kh = 0; kh < x.kernel[1]; ++kh) {
      const std::int64_t ih = h + kh * x.dilation[1];
      if (ih < 0 || ih >= x.in[1]) continue;
      for (std::int64_t kw = 0; kw < x.kernel[2]; ++kw) {
        const std::int64_t iw = w + kw * x.dilation[2];
        if (iw < 0 || iw >= x.in[2]) continue;
        f((kd * x.kernel[1] + kh) * x.kernel[2] + kw, (id * x.in[1] + ih) * x.in[2] + iw);
      }
    }
  }
}

/// The windows that contain an element, along one axis: positions p with stride p + dilation k = element + pad for a
/// tap k. They are those of one residue modulo dilation / gcd(stride, dilation).
struct Containing {
  std::int64_t kernel = 1;
  std::int64_t out = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;
  std::int64_t common = 1;   ///< gcd(stride, dilation)
  std::int64_t step = 1;     ///< dilation / common
  std::int64_t inverse = 0;  ///< of stride / common modulo step

  Containing() = default;
  Containing(const ImageWindows& x, std::size_t axis)
      : kernel(x.kernel[axis]),
        out(x.out[axis]),
        stride(x.stride[axis]),
        dilation(x.dilation[axis]),
        pad(x.pad[axis]),
        common(std::gcd(stride, dilation)),
        step(dilation / common) {
    // The extended algorithm of Euclid.
    std::int64_t a = stride / common % step;
    std::int64_t b = step;
    std::int64_t factor = 1;
    std::int64_t other = 0;
    while (a > 0) {
      const std::int64_t quotient = b / a;
      other = std::exchange(factor, other - quotient * factor);
      b = std::exchange(a, b - quotient * a);
    }
    inverse = step == 1 ? 0 : (other % step + step) % step;
  }

  /// Calls f(tap, position) for the windows that contain the element, in the order of the taps.
  template <class F>
  __device__ void for_each(std::int64_t element, F&& f) const {
    const std::int64_t target = element + pad;
    if (target % common != 0) return;
    const std::int64_t residue = target / common % step * inverse % step;
    const std::int64_t beyond = target - dilation * (kernel - 1);
    const std::int64_t first = beyond <= 0 ? 0 : (beyond + stride - 1) / stride;
    const std::int64_t reached = target / stride;
    std::int64_t last = reached < out ? reached : out - 1;
    last -= (last % step - residue + step) % step;
    for (std::int64_t p = last; p >= first; p -= step) f((target - p * stride) / dilation, p);
  }
};

/// The windows that contain an element, along all axes.
struct ContainingWindows {
  Containing d;
  Containing h;
  Containing w;

  explicit ContainingWindows(const ImageWindows& x) : d(x, 0), h(x, 1), w(x, 2) {}

  /// Calls f(tap, position) for the windows that contain a pixel.
  template <class F>
  __device__ void for_each(Index3 pixel, F&& f) const {
    d.for_each(pixel.d, [&](std::int64_t kd, std::int64_t pd) {
      h.for_each(pixel.h, [&](std::int64_t kh, std::int64_t ph) {
        w.for_each(pixel.w, [&](std::int64_t kw, std::int64_t pw) {
          f((kd * h.kernel + kh) * w.kernel + kw, (pd * h.out + ph) * w.out + pw);
        });
      });
    });
  }
};

}  // namespace lamella::cuda
