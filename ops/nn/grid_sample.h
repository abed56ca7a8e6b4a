#pragma once

#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct GridSample {
  static constexpr OpInfo info{
      .name = "grid_sample",
      .doc =
          "The values of images x, [images, channels, height, width], at the places that grid, [images, out height, "
          "out width, 2], names by (x, y) from -1, the left or upper edge, to 1 (Jaderberg et al., 2015). For volumes, "
          "with five axes, (x, y, z). mode is 'bilinear' (of eight neighbors in a volume), 'nearest' or 'bicubic' (of "
          "four along each axis). padding_mode says what lies outside: 'zeros', 'border' (the nearest element) or "
          "'reflection'. With align_corners the edges are the centers of the outer elements. At an element's center "
          "the derivative by the place is that on its right.",
      .parameters = "x, grid, /, mode='bilinear', padding_mode='zeros', align_corners=False",
      .example = "grid_sample(ones([1, 1, 2, 2]), zeros([1, 3, 3, 2]))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, const Tensor& grid, std::string_view mode, std::string_view padding_mode,
                     bool align_corners);
};

struct AffineGrid {
  static constexpr OpInfo info{
      .name = "affine_grid",
      .doc =
          "A grid for grid_sample: the places of the elements of images of `size`, [images, channels, height, width], "
          "mapped by the matrices theta, [images, 2, 3]; for volumes [images, 3, 4].",
      .parameters = "theta, /, size, align_corners=False",
      .example = "affine_grid(ones([1, 2, 3]), (1, 1, 2, 2))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& theta, const Dims& size, bool align_corners);
};

inline Tensor grid_sample(const Tensor& x, const Tensor& grid, std::string_view mode = "bilinear",
                          std::string_view padding_mode = "zeros", bool align_corners = false) {
  return GridSample::call(x, grid, mode, padding_mode, align_corners);
}
inline Tensor affine_grid(const Tensor& theta, const Dims& size, bool align_corners = false) {
  return AffineGrid::call(theta, size, align_corners);
}

}  // namespace lamella
