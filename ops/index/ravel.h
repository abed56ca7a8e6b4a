#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Conversions between positions in a flattened tensor and indices along its axes.

namespace lamella {

struct UnravelIndex {
  static constexpr OpInfo info{.name = "unravel_index",
                               .doc =
                                   "Where elements of a tensor of the given shape stand that have these positions once "
                                   "it is flattened: one int64 "
                                   "tensor for each axis. IndexError for a position that there is not.",
                               .parameters = "indices, shape, /",
                               .example = "unravel_index(asarray([1, 5]), (2, 3))",
                               .dtypes = Integral,
                               .method = false};
  static std::vector<Tensor> call(const Tensor& indices, const Dims& shape);
};

struct RavelMultiIndex {
  static constexpr OpInfo info{
      .name = "ravel_multi_index",
      .doc =
          "The positions in a flattened tensor of the given shape of the elements that stand at these positions along "
          "its axes, one tensor for each: the inverse of unravel_index. They broadcast. IndexError for a position that "
          "there is not.",
      .parameters = "multi_index, shape, /",
      .example = "ravel_multi_index([asarray([0, 1]), asarray([1, 2])], (2, 3))",
      .dtypes = Integral,
      .method = false};
  static Tensor call(const std::vector<Tensor>& multi_index, const Dims& shape);
};

inline std::vector<Tensor> unravel_index(const Tensor& indices, const Dims& shape) {
  return UnravelIndex::call(indices, shape);
}
inline Tensor ravel_multi_index(const std::vector<Tensor>& multi_index, const Dims& shape) {
  return RavelMultiIndex::call(multi_index, shape);
}

}  // namespace lamella
