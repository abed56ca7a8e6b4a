#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

// The transforms that all others are composed of. Each is linear, and so are the gradients: that of a complex transform
// is the one with the opposite sign, and those between real and complex numbers are each other's. The length does not
// divide the result: `scale` is the only factor.

struct FftComplexToComplex {
  static constexpr OpInfo info{
      .name = "fft_c2c",
      .doc =
          "scale times the discrete Fourier transform of complex x along the given axes, one after the other: y[k] is "
          "the sum of x[j] exp(-2 pi i j k / n), with +2 where forward is False. ValueError for an axis of length 0.",
      .parameters = "x, /, axes, *, scale=1.0, forward=True",
      .example = "fft.fft(ones([4]))",
      .reference = "scale * np.fft.fftn(x, axes=axes)",
      .dtypes = Complex,
      .method = false};
  static Tensor call(const Tensor& x, const Dims& axes, double scale, bool forward);
};

struct FftRealToComplex {
  static constexpr OpInfo info{
      .name = "fft_r2c",
      .doc =
          "scale times the first n // 2 + 1 coefficients of the transform of n real numbers along an axis; the others "
          "are their conjugates. With doubled=True those that stand for another one are multiplied by 2. Complex "
          "transforms along the axes in `others` follow.",
      .parameters = "x, /, axis, *, scale=1.0, forward=True, doubled=False, others=None",
      .example = "fft.rfft(ones([4]))",
      .reference = "scale * np.fft.rfft(x, axis=axis)",
      .dtypes = {DType::Float32, DType::Float64},
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t axis, double scale, bool forward, bool doubled,
                     const std::optional<Dims>& others);
};

struct FftComplexToReal {
  static constexpr OpInfo info{
      .name = "fft_c2r",
      .doc =
          "scale times the n real numbers whose transform begins with the n // 2 + 1 coefficients in x along an axis; "
          "the imaginary parts of the first and, for even n, of the last one do not count. With doubled=False the "
          "coefficients that stand for another one as well count half: the real part of a transform of x followed by "
          "zeros. ValueError where x has another number of coefficients.",
      .parameters = "x, /, n, axis, *, scale=1.0, forward=False, doubled=True",
      .example = "fft.irfft(ones([3], dtype='complex64'))",
      .reference = "scale * n * np.fft.irfft(x, n, axis=axis)",
      .dtypes = Complex,
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t n, std::int64_t axis, double scale, bool forward, bool doubled);
};

inline Tensor fft_c2c(const Tensor& x, const Dims& axes, double scale = 1.0, bool forward = true) {
  return FftComplexToComplex::call(x, axes, scale, forward);
}
inline Tensor fft_r2c(const Tensor& x, std::int64_t axis, double scale = 1.0, bool forward = true,
                      bool doubled = false) {
  return FftRealToComplex::call(x, axis, scale, forward, doubled, std::nullopt);
}
inline Tensor fft_c2r(const Tensor& x, std::int64_t n, std::int64_t axis, double scale = 1.0, bool forward = false,
                      bool doubled = true) {
  return FftComplexToReal::call(x, n, axis, scale, forward, doubled);
}

}  // namespace lamella
