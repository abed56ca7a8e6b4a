#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Complex tensors of the parts of their numbers, and the other way around.

namespace lamella {

struct MakeComplex {
  static constexpr OpInfo info{.name = "complex",
                               .doc = "The complex numbers with the given real and imaginary parts, which broadcast.",
                               .parameters = "real, imag, /",
                               .example = "complex(ones([2]), zeros([2]))",
                               .reference = "real + 1j * imag",
                               .dtypes = DTypeSet{DType::Float32} | DType::Float64,
                               .method = false};
  /// TypeError for parts that are not both float32 or both float64.
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
      .parameters = "x, /",
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
          "first part an even number of parts from the begin.",
      .parameters = "x, /",
      .example = "view_as_complex(ones([3, 2]))",
      .reference = "x[..., 0] + 1j * x[..., 1]",
      .dtypes = DTypeSet{DType::Float32} | DType::Float64};
  /// ValueError where the last axis has another size than 2, or the memory of x cannot be seen as complex numbers:
  /// call it with clone(x) then.
  static Tensor call(const Tensor& x);
};

/// The complex numbers with these parts.
inline Tensor make_complex(const Tensor& real, const Tensor& imag) { return MakeComplex::call(real, imag); }

}  // namespace lamella
