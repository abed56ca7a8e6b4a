#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Interpolate {
  static constexpr OpInfo info{
      .name = "interpolate",
      .doc =
          "x, [images, channels, ...], with its one to three last axes at another `size` (one number for each, or one "
          "for all), or at scale_factor times their size, rounded down. mode is 'nearest', 'nearest-exact' (the "
          "nearest "
          "by the elements' centers), 'linear' (three axes), 'bilinear' and 'bicubic' (four), 'trilinear' (five), or "
          "'area' (the mean of what an element covers). align_corners, for the linear and cubic modes, puts the "
          "centers "
          "of the first and last elements at the same place, rather than the elements' outer edges. The cubic is that "
          "of Keys (1981) with a = -0.75. Of uint8 the result is rounded to uint8, of other integers it is float32. "
          "With `antialias`, which goes with 'bilinear' and 'bicubic', an element of a "
          "smaller image is a mean of all that it covers, weighed by the triangle, or the cubic with a = -0.5, widened "
          "by the scale. Places come from scale_factor where it is given, or with recompute_scale_factor from the "
          "sizes.",
      .parameters =
          "x, /, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, "
          "antialias=False",
      .example = "interpolate(ones([1, 1, 2, 2]), size=(4, 4), mode='bilinear')",
      .method = false};
  /// Throws ValueError for a mode that does not fit the number of axes, or unless exactly one of size and scale_factor
  /// is given.
  static Tensor call(const Tensor& x, const std::optional<Dims>& size,
                     const std::optional<std::vector<double>>& scale_factor, std::string_view mode,
                     std::optional<bool> align_corners, std::optional<bool> recompute_scale_factor, bool antialias);
};

struct DynamicInterpolate {
  static constexpr OpInfo info{.name = "dynamic_interpolate",
                               .doc = "interpolate() to the sizes that a vector of integers holds.",
                               .parameters = "x, size, *, mode='nearest', align_corners=None, antialias=False",
                               .example = "dynamic_interpolate(ones([1, 1, 2, 2]), asarray([4, 3]))",
                               .method = false};
  static Tensor call(const Tensor& x, const Tensor& size, std::string_view mode, std::optional<bool> align_corners,
                     bool antialias);
};

inline Tensor interpolate(const Tensor& x, const std::optional<Dims>& size,
                          const std::optional<std::vector<double>>& scale_factor = std::nullopt,
                          std::string_view mode = "nearest", bool align_corners = false, bool antialias = false) {
  return Interpolate::call(x, size, scale_factor, mode, align_corners, std::nullopt, antialias);
}

}  // namespace lamella
