#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/inverse_slopes.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/trigonometry.h"

namespace lamella {

struct Sinh : Unary<Sinh> {
  static constexpr OpInfo info{
      .name = "sinh", .doc = "The hyperbolic sine.", .reference = "np.sinh(x)", .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return sinh(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * cosh(x);
  }
};

struct Cosh : Unary<Cosh> {
  static constexpr OpInfo info{
      .name = "cosh", .doc = "The hyperbolic cosine.", .reference = "np.cosh(x)", .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return cosh(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * sinh(x);
  }
};

struct Asinh : Unary<Asinh> {
  static constexpr OpInfo info{
      .name = "asinh", .doc = "The inverse of sinh.", .reference = "np.arcsinh(x)", .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return asinh(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * asinh_slope(x);
  }
};

struct Acosh : Unary<Acosh> {
  static constexpr OpInfo info{.name = "acosh",
                               .doc = "The inverse of cosh, not negative; NaN for real x below 1.",
                               .example = "acosh(full([2], 1.5))",
                               .reference = "np.arccosh(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = 1.1,
                               .sample_high = 4.0};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return acosh(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * acosh_slope(x);
  }
};

struct Atanh : Unary<Atanh> {
  static constexpr OpInfo info{.name = "atanh",
                               .doc = "The inverse of tanh; NaN for real x beyond [-1, 1].",
                               .reference = "np.arctanh(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = -0.9,
                               .sample_high = 0.9};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return atanh(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * atanh_slope(x);
  }
};

inline Tensor sinh(const Tensor& x) { return Sinh::call(x); }
inline Tensor cosh(const Tensor& x) { return Cosh::call(x); }
inline Tensor asinh(const Tensor& x) { return Asinh::call(x); }
inline Tensor acosh(const Tensor& x) { return Acosh::call(x); }
inline Tensor atanh(const Tensor& x) { return Atanh::call(x); }

}  // namespace lamella
