#pragma once

#include <cstdint>

namespace lamella::cpu {

enum class GridMode : std::uint8_t { Linear, Nearest, Cubic };
enum class GridOutside : std::uint8_t { Zeros, Border, Reflection };

/// The interpretation of a grid.
struct GridSetting {
  GridMode mode = GridMode::Linear;
  GridOutside outside = GridOutside::Zeros;
  bool align_corners = false;
};

/// Returns the number of neighbors along each axis that a sample is computed from.
constexpr std::int64_t grid_neighbors(GridMode mode) {
  return mode == GridMode::Linear ? 2 : mode == GridMode::Nearest ? 1 : 4;
}

/// Samples of one image at the positions of a grid: x [channels, height, width], grid [places, 2], y and dy [channels,
/// places], all contiguous. The width must be at least grid_neighbors(mode).
template <class T>
struct GridArgs {
  const T* x = nullptr;
  const T* grid = nullptr;
  const T* dy = nullptr;
  T* y = nullptr;
  T* dx = nullptr;
  T* dgrid = nullptr;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t places = 0;
  std::int64_t first = 0;  // first of the positions that forward computes
  std::int64_t last = 0;
  GridSetting setting;
};

template <class T>
struct GridKernels {
  void (*forward)(const GridArgs<T>&) = nullptr;
  /// Computes dx and dgrid for all positions; either may be null.
  void (*backward)(const GridArgs<T>&) = nullptr;
};

struct GridSampleTable {
  GridKernels<float> float32;
  GridKernels<double> float64;
};

void fill_grid_sample(GridSampleTable& table);

}  // namespace lamella::cpu
