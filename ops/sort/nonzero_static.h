#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct NonzeroStatic {
  static constexpr OpInfo info{.name = "nonzero_static",
                               .doc =
                                   "The first `size` rows of argwhere(x), padded with rows of fill_value: a result "
                                   "whose shape does not depend on values, so that it works on meta as well.",
                               .parameters = "x, /, *, size, fill_value=-1",
                               .example = "nonzero_static(eye(2), size=3)"};
  /// Throws ValueError if size is negative.
  static Tensor call(const Tensor& x, std::int64_t size, std::int64_t fill_value);
};

}  // namespace lamella
