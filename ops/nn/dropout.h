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
      .dtypes = Floating | Complex,
      .method = false,
      .in_place = true};
  /// Throws ValueError for a p outside of [0, 1] or a generator of another device than x's.
  static Tensor call(const Tensor& x, double p, bool training, Generator* generator = nullptr);
};

struct Dropout1d {
  static constexpr OpInfo info{
      .name = "dropout1d",
      .doc =
          "dropout of whole channels, for x of the shape [N, C, L] or [C, L] (Tompson et al., \"Efficient object "
          "localization using convolutional networks\", 2015).",
      .parameters = "x, /, p=0.5, training=True, *, generator=None",
      .example = "dropout1d(ones([2, 3, 4]), 0.25)",
      .dtypes = Floating | Complex,
      .method = false};
  static Tensor call(const Tensor& x, double p, bool training, Generator* generator = nullptr);
};

struct Dropout2d {
  static constexpr OpInfo info{.name = "dropout2d",
                               .doc = "dropout of whole channels, for x of the shape [N, C, H, W] or [N, C, L].",
                               .parameters = "x, /, p=0.5, training=True, *, generator=None",
                               .example = "dropout2d(ones([2, 3, 2, 2]), 0.25)",
                               .dtypes = Floating | Complex,
                               .method = false};
  static Tensor call(const Tensor& x, double p, bool training, Generator* generator = nullptr);
};

struct Dropout3d {
  static constexpr OpInfo info{.name = "dropout3d",
                               .doc = "dropout of whole channels, for x of the shape [N, C, D, H, W] or [C, D, H, W].",
                               .parameters = "x, /, p=0.5, training=True, *, generator=None",
                               .example = "dropout3d(ones([2, 3, 2, 2, 2]), 0.25)",
                               .dtypes = Floating | Complex,
                               .method = false};
  static Tensor call(const Tensor& x, double p, bool training, Generator* generator = nullptr);
};

struct AlphaDropout {
  static constexpr OpInfo info{
      .name = "alpha_dropout",
      .doc =
          "In training, each element becomes selu's limit at minus infinity with probability p, and all are scaled and "
          "shifted so that mean 0 and variance 1 stay so (Klambauer et al., \"Self-normalizing neural networks\", "
          "2017); otherwise x itself.",
      .parameters = "x, /, p=0.5, training=True, *, generator=None",
      .example = "alpha_dropout(ones([4]), 0.25)",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, double p, bool training, Generator* generator = nullptr);
};

struct FeatureAlphaDropout {
  static constexpr OpInfo info{.name = "feature_alpha_dropout",
                               .doc = "alpha_dropout of whole channels, for x of the shape [N, C, ...].",
                               .parameters = "x, /, p=0.5, training=True, *, generator=None",
                               .example = "feature_alpha_dropout(ones([2, 3, 4]), 0.25)",
                               .dtypes = Floating,
                               .method = false};
  static Tensor call(const Tensor& x, double p, bool training, Generator* generator = nullptr);
};

inline Tensor dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr) {
  return Dropout::call(x, p, training, generator);
}
inline Tensor dropout1d(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr) {
  return Dropout1d::call(x, p, training, generator);
}
inline Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr) {
  return Dropout2d::call(x, p, training, generator);
}
inline Tensor dropout3d(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr) {
  return Dropout3d::call(x, p, training, generator);
}
inline Tensor alpha_dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr) {
  return AlphaDropout::call(x, p, training, generator);
}
inline Tensor feature_alpha_dropout(const Tensor& x, double p = 0.5, bool training = true,
                                    Generator* generator = nullptr) {
  return FeatureAlphaDropout::call(x, p, training, generator);
}

}  // namespace lamella
