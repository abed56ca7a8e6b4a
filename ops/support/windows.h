#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lamella {

/// The windows of an image of up to three axes: tap k of the window at position p is, along each axis, the image's
/// element stride p - pad + dilation k, and 0 outside of the image. Leading axes that are not used have the size 1.
struct ImageWindows {
  static constexpr std::size_t kAxes = 3;
  using Sizes = std::array<std::int64_t, kAxes>;

  Sizes in{1, 1, 1};
  Sizes kernel{1, 1, 1};
  Sizes out{1, 1, 1};
  Sizes stride{1, 1, 1};
  Sizes dilation{1, 1, 1};
  Sizes pad{};

  std::int64_t pixels() const { return in[0] * in[1] * in[2]; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t positions() const { return out[0] * out[1] * out[2]; }
};

/// Images [images, channels, in..] beside their columns, which hold element k of the window at position p. Images lie
/// image_step elements apart, and their channels are contiguous; the other steps are those of the columns.
struct ColumnSteps {
  std::int64_t images = 1;
  std::int64_t channels = 1;
  std::int64_t image_step = 0;

  std::int64_t of_image = 0;
  std::int64_t of_channel = 0;
  std::int64_t of_tap = 0;
  std::int64_t of_position = 1;

  /// The positions in row-major order that the columns are of; fold() takes all.
  std::int64_t first_position = 0;
  std::int64_t position_count = 0;
};

/// Returns the steps of columns [images, channels, taps, positions], contiguous beside contiguous images.
inline ColumnSteps contiguous_columns(const ImageWindows& windows, std::int64_t images, std::int64_t channels) {
  const std::int64_t of_channel = windows.taps() * windows.positions();
  return {.images = images,
          .channels = channels,
          .image_step = channels * windows.pixels(),
          .of_image = channels * of_channel,
          .of_channel = of_channel,
          .of_tap = windows.positions(),
          .position_count = windows.positions()};
}

}  // namespace lamella
