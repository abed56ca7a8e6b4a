#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Conversions between complex tensors and their real and imaginary parts.

namespace lamella {

struct MakeComplex {
  static constexpr OpInfo info{.name = "complex",
                               .doc = "The complex numbers with the given real and imaginary parts, which broadcast.",
                               .parameters = "real, imag, /",
                               .example = "complex(ones([2]), zeros([2]))",
                               .reference = "real + 1j * imag",
                               .dtypes = DTypeSet{DType::Float32} | DType::Float64,
                               .method = false};
  /// Throws TypeError unless both parts are float32 or both are float64.
  static Tensor call(const Tensor& real, const Tensor& imag);
};

struct Polar {
  static constexpr OpInfo info{.name = "polar",
                               .doc = "The complex numbers with the given magnitudes and angles, which broadcast.",
                               .parameters = "abs, angle, /",
                               .example = "polar(ones([2]), zeros([2]))",
                               .reference = "abs * np.exp(1j * angle)",
                               .dtypes = DTypeSet{DType::Float32} | DType::Float64,
                               .method = false};
  static Tensor call(const Tensor& abs, const Tensor& angle);
};

struct ViewAsReal {
  static constexpr OpInfo info{
      .name = "view_as_real",
      .doc = "The parts of complex numbers, real and imaginary, along a new last axis of size 2: a view.",
      .example = "view_as_real(full([2], 1j))",
      .reference = "np.stack([np.real(x), np.imag(x)], -1)",
      .dtypes = Complex};
  static Tensor call(const Tensor& x);
};

struct ViewAsComplex {
  static constexpr OpInfo info{
      .name = "view_as_complex",
      .doc =
          "The complex numbers whose parts, real and imaginary, lie along the last axis of x, of size 2: a view. In "
          "memory the parts must lie in pairs: the last axis with stride 1, all others with even strides, and the "
          "first part an even number of parts from the beginning.",
      .example = "view_as_complex(ones([3, 2]))",
      .reference = "x[..., 0] + 1j * x[..., 1]",
      .dtypes = DTypeSet{DType::Float32} | DType::Float64};
  /// Throws ValueError if the size of the last axis is not 2, or if the strides of x do not allow a complex view;
  /// clone(x) can always be viewed.
  static Tensor call(const Tensor& x);
};

/// Returns the complex tensor with the given parts.
inline Tensor make_complex(const Tensor& real, const Tensor& imag) { return MakeComplex::call(real, imag); }

}  // namespace lamella
