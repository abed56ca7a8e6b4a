#pragma once

#include "engine/core/tensor.h"
#include "engine/runtime/generator.h"
#include "ops/op_info.h"

namespace lamella {

struct Dropout {
  static constexpr OpInfo info{
      .name = "dropout",
      .doc =
          "In training, each element becomes 0 with probability p, and the others are divided by 1 - p (Srivastava "
          "et al., 2014, in its inverted form); otherwise x itself.",
      .parameters = "x, /, p=0.5, training=True, *, generator=None",
      .example = "dropout(ones([4]), 0.25)",
      .dtypes = Floating,
      .method = false};
  /// ValueError for a p outside [0, 1], or a generator of another device than x's.
  static Tensor call(const Tensor& x, double p, bool training, Generator* generator = nullptr);
};

inline Tensor dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr) {
  return Dropout::call(x, p, training, generator);
}

}  // namespace lamella
