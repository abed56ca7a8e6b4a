#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/inverse_slopes.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"

namespace lamella {

struct Sin : Unary<Sin> {
  static constexpr OpInfo info{
      .name = "sin", .doc = "The sine of x in radians.", .reference = "np.sin(x)", .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return sin(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * cos(x);
  }
};

struct Cos : Unary<Cos> {
  static constexpr OpInfo info{
      .name = "cos", .doc = "The cosine of x in radians.", .reference = "np.cos(x)", .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return cos(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return -dy * sin(x);
  }
};

struct Tan : Unary<Tan> {
  static constexpr OpInfo info{.name = "tan",
                               .doc = "The tangent of x in radians.",
                               .reference = "np.tan(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = -1.2,
                               .sample_high = 1.2};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return tan(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X& y, const X& dy) {
    return dy * (1 + y * y);
  }
};

struct Asin : Unary<Asin> {
  static constexpr OpInfo info{.name = "asin",
                               .doc = "The inverse of sin, from -pi/2 to pi/2; NaN for real x beyond [-1, 1].",
                               .reference = "np.arcsin(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = -0.9,
                               .sample_high = 0.9};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return asin(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * asin_slope(x);
  }
};

struct Acos : Unary<Acos> {
  static constexpr OpInfo info{.name = "acos",
                               .doc = "The inverse of cos, from 0 to pi; NaN for real x beyond [-1, 1].",
                               .reference = "np.arccos(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = -0.9,
                               .sample_high = 0.9};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return acos(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return -dy * asin_slope(x);
  }
};

struct Atan : Unary<Atan> {
  static constexpr OpInfo info{.name = "atan",
                               .doc = "The inverse of tan, from -pi/2 to pi/2.",
                               .reference = "np.arctan(x)",
                               .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return atan(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * atan_slope(x);
  }
};

struct Atan2 : Binary<Atan2> {
  static constexpr OpInfo info{.name = "atan2",
                               .doc =
                                   "The angle of the point (b, a) in the plane: the inverse tangent of a / b, in the "
                                   "quadrant given by both signs. The subgradient at the origin is 0.",
                               .example = "atan2(full([2], 0.5), full([2], 0.25))",
                               .reference = "np.arctan2(a, b)",
                               .dtypes = Floating,
                               .sample_low = 0.2,
                               .sample_high = 3.0};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return atan2(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return dy * atan2_slope(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return -dy * atan2_slope(b, a);
  }
};

inline Tensor sin(const Tensor& x) { return Sin::call(x); }
inline Tensor cos(const Tensor& x) { return Cos::call(x); }
inline Tensor tan(const Tensor& x) { return Tan::call(x); }
inline Tensor asin(const Tensor& x) { return Asin::call(x); }
inline Tensor acos(const Tensor& x) { return Acos::call(x); }
inline Tensor atan(const Tensor& x) { return Atan::call(x); }
inline Tensor atan2(const Operand& a, const Operand& b) { return Atan2::call(a, b); }

}  // namespace lamella
