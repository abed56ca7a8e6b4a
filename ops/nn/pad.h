#pragma once

#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Pad {
  static constexpr OpInfo info{
      .name = "pad",
      .doc =
          "x with more elements around it. `pad` holds (before, after) for the last axis, then for the one in front of "
          "it, and so on; negative numbers cut. mode 'constant' adds `value`, 'reflect' mirrors x about its first and "
          "last element (at most its size less one), 'replicate' repeats these (x's own, also where they are cut), "
          "'circular' goes on at the other end "
          "(at "
          "most its size).",
      .parameters = "x, /, pad, mode='constant', value=0.0",
      .example = "pad(ones([2, 3]), (1, 1), mode='replicate')",
      .method = false};
  /// Throws ValueError for an odd number of sizes, more of them than axes, or a size that the mode does not allow.
  static Tensor call(const Tensor& x, const Dims& pad, std::string_view mode, Scalar value);
};

inline Tensor pad(const Tensor& x, const Dims& pad, std::string_view mode = "constant", Scalar value = 0.0) {
  return Pad::call(x, pad, mode, value);
}

}  // namespace lamella
