#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Activations composed of other operators. Those with a formula of their own are in ops/elementwise.

namespace lamella {

struct Relu6 {
  static constexpr OpInfo info{.name = "relu6",
                               .doc = "x limited to [0, 6]. The derivative is 0 at 0 and at 6 (hardtanh's).",
                               .example = "relu6(full([2], 7.0))",
                               .reference = "np.minimum(np.maximum(x, 0), 6)",
                               .dtypes = Floating,
                               .method = false,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct Prelu {
  static constexpr OpInfo info{
      .name = "prelu",
      .doc =
          "x above 0, weight * x elsewhere (He et al., 2015). `weight` has one element, or one for each channel: for "
          "each index along axis 1 of x, or along axis 0 where x has one axis.",
      .parameters = "x, weight",
      .example = "prelu(full([2, 3], -1.0), full([3], 0.25))",
      .dtypes = Floating,
      .method = false};
  /// Throws ValueError if the weight's shape does not fit.
  static Tensor call(const Tensor& x, const Tensor& weight);
};

struct Glu {
  static constexpr OpInfo info{
      .name = "glu",
      .doc = "a * sigmoid(b) for the halves a and b of x along an axis, of even size (Dauphin et al., 2016).",
      .parameters = "x, /, axis=-1",
      .example = "glu(ones([2, 4]))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t axis);
};

inline Tensor relu6(const Tensor& x) { return Relu6::call(x); }
inline Tensor prelu(const Tensor& x, const Tensor& weight) { return Prelu::call(x, weight); }
inline Tensor glu(const Tensor& x, std::int64_t axis = -1) { return Glu::call(x, axis); }

}  // namespace lamella
