#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Conversion between images and matrices of their windows, and other rearrangements between channels and positions. An
// image is [channels, height, width] or [images, channels, height, width]; sizes are one number, or one for height and
// one for width.

namespace lamella {

struct Unfold {
  static constexpr OpInfo info{.name = "unfold",
                               .doc =
                                   "The windows of an image as columns: [.., channels * window, places], where a "
                                   "window is that of a convolution "
                                   "with these settings. fold is its transpose, and its gradient.",
                               .parameters = "x, /, kernel_size, dilation=1, padding=0, stride=1",
                               .example = "unfold(ones([1, 2, 4, 4]), 3).shape",
                               .method = false};
  /// Throws ValueError for an x of another number of axes, sizes out of range, or an image smaller than the window.
  static Tensor call(const Tensor& x, const Dims& kernel_size, const Dims& dilation, const Dims& padding,
                     const Dims& stride);
};

struct Fold {
  static constexpr OpInfo info{
      .name = "fold",
      .doc =
          "The transpose of unfold: an image of output_size, each element of which is the sum of the column elements "
          "that unfold would copy from it. x is [.., channels * window, places].",
      .parameters = "x, /, output_size, kernel_size, dilation=1, padding=0, stride=1",
      .example = "fold(ones([1, 18, 4]), (4, 4), 3).shape",
      .dtypes = Numeric,
      .method = false};
  static Tensor call(const Tensor& x, const Dims& output_size, const Dims& kernel_size, const Dims& dilation,
                     const Dims& padding, const Dims& stride);
};

struct PixelShuffle {
  static constexpr OpInfo info{
      .name = "pixel_shuffle",
      .doc =
          "[.., channels * r * r, height, width] as [.., channels, height * r, width * r], r being upscale_factor (Shi "
          "et al., 2016).",
      .parameters = "x, /, upscale_factor",
      .example = "pixel_shuffle(ones([1, 4, 2, 2]), 2).shape",
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t upscale_factor);
};

struct PixelUnshuffle {
  static constexpr OpInfo info{.name = "pixel_unshuffle",
                               .doc = "The inverse of pixel_shuffle.",
                               .parameters = "x, /, downscale_factor",
                               .example = "pixel_unshuffle(ones([1, 1, 4, 4]), 2).shape",
                               .method = false};
  static Tensor call(const Tensor& x, std::int64_t downscale_factor);
};

inline Tensor unfold(const Tensor& x, const Dims& kernel_size, const Dims& dilation = {1}, const Dims& padding = {0},
                     const Dims& stride = {1}) {
  return Unfold::call(x, kernel_size, dilation, padding, stride);
}
inline Tensor fold(const Tensor& x, const Dims& output_size, const Dims& kernel_size, const Dims& dilation = {1},
                   const Dims& padding = {0}, const Dims& stride = {1}) {
  return Fold::call(x, output_size, kernel_size, dilation, padding, stride);
}
inline Tensor pixel_shuffle(const Tensor& x, std::int64_t upscale_factor) {
  return PixelShuffle::call(x, upscale_factor);
}
inline Tensor pixel_unshuffle(const Tensor& x, std::int64_t downscale_factor) {
  return PixelUnshuffle::call(x, downscale_factor);
}

}  // namespace lamella
