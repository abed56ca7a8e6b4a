#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct UniqueConsecutive {
  static constexpr OpInfo info{
      .name = "unique_consecutive",
      .doc =
          "The first element of each run of equal neighbors in x, flattened, or the first slice of each run along an "
          "axis. Further results follow the values: with return_inverse the number of the run of each element (in x's "
          "shape) or slice (one axis), with return_counts the lengths of the runs. NaN is equal to nothing. The "
          "gradient goes to the first element of each run.",
      .parameters = "x, /, *, return_inverse=False, return_counts=False, axis=None",
      .example = "unique_consecutive(asarray([1, 1, 2, 1]))",
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, bool return_inverse, bool return_counts,
                                  std::optional<std::int64_t> axis);
};

/// Returns a mask of the matrix rows at which a run of equal rows begins.
Tensor beginnings(const Tensor& rows);

}  // namespace lamella
