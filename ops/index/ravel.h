#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Conversions between positions in a flattened tensor and indices along its axes.

namespace lamella {

struct UnravelIndex {
  static constexpr OpInfo info{
      .name = "unravel_index",
      .doc =
          "The indices along each axis of a tensor of the given shape of the elements at these positions in the "
          "flattened tensor: one int64 tensor per axis. IndexError for a position out of range.",
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
          "The positions in the flattened tensor of the given shape of the elements at these indices, one tensor per "
          "axis: the inverse of unravel_index. They broadcast. IndexError for an index out of range.",
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
