#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct BroadcastTo {
  static constexpr OpInfo info{
      .name = "broadcast_to",
      .doc =
          "A view of x in a larger shape, by the rules of broadcasting: its elements share memory, so it cannot be "
          "written to. The gradient is summed back to x's shape.",
      .parameters = "x, /, shape",
      .example = "broadcast_to(ones([3]), [2, 3])",
      .reference = "np.broadcast_to(x, shape)"};
  static Tensor call(const Tensor& x, const Dims& shape);
};

inline Tensor broadcast_to(const Tensor& x, const Dims& shape) { return BroadcastTo::call(x, shape); }

}  // namespace lamella
