#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct OneHot {
  static constexpr OpInfo info{
      .name = "one_hot",
      .doc =
          "A new last axis of length num_classes that holds 1 at the element's value and 0 elsewhere, as int64. "
          "IndexError for a value outside [0, num_classes). -1 stands for the largest value plus one.",
      .parameters = "x, /, num_classes=-1",
      .example = "one_hot(asarray([0, 2]), 3)",
      .reference = "np.eye(num_classes, dtype='int64')[x]",
      .dtypes = Integral};
  static Tensor call(const Tensor& x, std::int64_t num_classes);
};

/// Returns one_hot() of the targets of `op` as bools.
Tensor one_hot_mask(const Tensor& x, std::int64_t num_classes, const char* op);

inline Tensor one_hot(const Tensor& x, std::int64_t num_classes = -1) { return OneHot::call(x, num_classes); }

}  // namespace lamella
