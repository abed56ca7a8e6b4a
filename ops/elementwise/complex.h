#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

// The parts of complex numbers. Real tensors are returned unchanged; conj has kernels for complex dtypes only.

struct Conj : Unary<Conj> {
  static constexpr OpInfo info{
      .name = "conj", .doc = "The complex conjugate; real x itself.", .reference = "np.conj(x)", .dtypes = Complex};
  static constexpr bool kHolomorphic = false;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    return conj(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X&, const X& dy) {
    return conj(dy);
  }
  static Tensor call(const Tensor& x);
};

struct RealPart {
  static constexpr OpInfo info{.name = "real",
                               .doc = "The real part, a view of complex x; real x itself.",
                               .reference = "np.real(x)",
                               .method = false,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct ImaginaryPart {
  static constexpr OpInfo info{.name = "imag",
                               .doc = "The imaginary part, a view of complex x; new zeros for real x.",
                               .reference = "np.imag(x)",
                               .method = false,
                               .out = true};
  static Tensor call(const Tensor& x);
};

struct Angle : Unary<Angle> {
  static constexpr OpInfo info{.name = "angle",
                               .doc =
                                   "The angle in the complex plane, from -pi to pi; 0 or pi for real x, NaN for NaN. "
                                   "The subgradient at 0 is 0.",
                               .reference = "np.where(np.isnan(x), np.nan, np.angle(x))",
                               .dtypes = Floating | Complex,
                               .kinks = {0.0, __builtin_nan("")}};
  static constexpr bool kHolomorphic = false;
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return angle(x);
  }
  template <class X, class Y>
  LM_HD static constexpr X backward(const X& x, const Y&, const Y& dy) {
    return angle_gradient(x, dy);
  }
};

inline Tensor conj(const Tensor& x) { return Conj::call(x); }
inline Tensor real(const Tensor& x) { return RealPart::call(x); }
inline Tensor imag(const Tensor& x) { return ImaginaryPart::call(x); }
inline Tensor angle(const Tensor& x) { return Angle::call(x); }

/// Return a complex tensor with the real (or imaginary) part x and zeros for the other part.
Tensor complex_from(const Tensor& x);
Tensor complex_from_imaginary(const Tensor& x);
/// Returns the gradient of angle(x) for the incoming gradient dy.
Tensor angle_gradient(const Tensor& x, const Tensor& dy);

}  // namespace lamella
