#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "ops/simd/hd.h"
#include "ops/simd/isa.h"

/// Special functions that are formulas over the operators and basic functions of a floating operand `X`, or loops over
/// its lanes, written once for `Vec<T>` and `Lane<T>`.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// An operand of `float` or `double`.
template <class X>
concept FloatOperand = std::floating_point<typename X::value_type>;

/// Constants, since a CUDA thread cannot call `std::numeric_limits`.
template <FloatOperand X>
inline constexpr typename X::value_type kInfinityOf = std::numeric_limits<typename X::value_type>::infinity();
template <FloatOperand X>
inline constexpr typename X::value_type kNanOf = std::numeric_limits<typename X::value_type>::quiet_NaN();

namespace special {

/// Returns sum x + c, rounded once if the operand has a fused operation.
template <class X>
LM_HD X polynomial_step(X sum, X x, double c) {
  if constexpr (requires { multiply_add(sum, x, X(c)); }) {
    return multiply_add(sum, x, X(c));
  } else {
    return sum * x + c;
  }
}

/// Returns c0 x^n + c1 x^(n-1) + ... + cn.
template <class X, class... C>
LM_HD X polynomial(X x, double first, double second, C... rest) {
  X sum = polynomial_step(X(first), x, second);
  ((sum = polynomial_step(sum, x, rest)), ...);
  return sum;
}

/// Returns the inverse of erf in float, for -log(1 - a^2) = w < 16; no float is closer to 1. Accurate to 3 ulp. The
/// form is that of M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011; the minimax coefficients
/// have errors of 2e-9 and 6e-9 on either side of w = 5.
template <class X>
LM_HD X erfinv_in_float(X a, X w) {
  X y = polynomial(w - 2.5, 3.35588275e-10, -8.7727602e-09, 1.80364888e-08, 4.6589123e-07, -3.43460808e-06,
                   -4.96190791e-06, 0.000218282624, -0.00125274467, -0.0041773394, 0.246640288, 1.50140935);
  const auto far = !(w < 5);
  if (any(far)) {
    const X above = polynomial(sqrt(w) - 3, 0.000128966878, -0.0003187271, -7.66220333e-05, 0.00149586129,
                               -0.00358698702, 0.00568317068, -0.00763941005, 0.00944568438, 1.00167509, 2.8329768);
    y = where(far, above, y);
  }
  return y * a;
}

/// Returns the inverse of erf for w < 5 in double: a (sqrt(pi) / 2 + w n(w) / d(w)), interpolated at Chebyshev points
/// to a relative error of 3e-17. All terms are positive, so nothing cancels; even and odd powers are summed separately,
/// which halves the number of successive roundings.
template <class X>
LM_HD X erfinv_near(X a, X w) {
  const X s = w * w;
  const X above = polynomial(s, 1.0178085307481404526e-6, 2.1260738755601801698e-4, 1.2767186177658100623e-2,
                             2.320136665346513128e-1) +
                  w * polynomial(s, 3.3321888335158276051e-8, 1.7931875695531090152e-5, 1.709489102221405548e-3,
                                 4.3394793121944337526e-2);
  const X below = polynomial(s, 2.1139569561159197441e-9, 5.8170191583067732538e-6, 1.0589158184670521672e-3,
                             5.8259767227898204956e-2, 1.0) +
                  w * polynomial(s, 2.591491475033089666e-7, 8.4873097943519446432e-5, 6.4012564148911645331e-3,
                                 1.3725678990920888416e-1);
  return a * (0.88622692545275801365 + w * (above / below));
}

/// Returns the inverse of erf closer to 1, to a relative error of 2e-18: erfc(y) is about exp(-y * y) / (y * sqrt(pi)),
/// so y depends smoothly on s = sqrt(-log(1 - a)), and s - y is at most a seventh of s.
template <class X>
LM_HD X erfinv_far(X a) {
  const X s = sqrt(-log(1 - a));
  const X above =
      polynomial(s, 5.6493545243608648109e-5, 7.6352827307873278583e-3, 1.8876907915817259799e-1, 1.2281071183224021722,
                 2.0403810996591479734, 1.2837309711145027714, 9.9643872010441903964e-1, -9.9962376511214559504e-5);
  const X below =
      polynomial(s, 1.5726039172760555584e-5, 3.1450668313259415173e-3, 1.0930486680253854931e-1, 1.0735941327144345977,
                 3.3646442959108539301, 4.0553388387225902878, 4.0717305321543453419, 2.136359848940008887, 1.0);
  return s - above / below;
}

/// Returns the sum of (b + k)^-2 over k >= 0: reflected below 0 (zeta(2, b) + zeta(2, 1 - b) = (pi / sin(pi b))^2),
/// with its first terms summed, and the asymptotic series for the rest (Abramowitz and Stegun, 6.4.7, 6.4.6, 6.4.12).
template <class X>
LM_HD X zeta_of_two(X b) {
  constexpr int kRaised = sizeof(typename X::value_type) == 4 ? 4 : 10;
  const auto below = b < 0;
  X x = where(below, 1 - b, b);
  X sum = 0;
  for (int i = 0; i < kRaised; ++i) {
    const auto small = x < kRaised;
    sum = sum + where(small, 1 / (x * x), 0);
    x = where(small, x + 1, x);
  }
  const X r = 1 / x;
  const X w = r * r;
  const X tail =
      polynomial(w, -3617.0 / 510, 7.0 / 6, -691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6);
  X value = sum + (r + (w / 2 + tail * w * r));
  if (any(below)) {
    const X ratio = 3.14159265358979323846 / sin(3.14159265358979323846 * (b - round(b)));
    value = where(below, ratio * ratio - value, value);
  }
  return where((b <= 0) & (b == floor(b)), kInfinityOf<X>, where(isinf(b), 0, value));
}

/// Returns Hurwitz's zeta function for s > 1 and q > 0 by the Euler-Maclaurin formula: the sum of (q + k)^-s over at
/// least nine terms, until q + k exceeds 9, and the rest from Bernoulli's numbers B_2j.
template <class T>
LM_HD T zeta_above_zero(T s, T q) {
  T at = q;
  T sum = 0;
  for (int k = 0; k < 9 || at <= 9; ++k) {
    sum += ::pow(at, -s);
    at += 1;
  }
  const T rest = ::pow(at, 1 - s);  // a smaller power of a large number might be denormal
  const T power = rest / at;
  sum += rest / (s - 1) + power / 2;
  // B_2j / (2j)!
  constexpr T kTerms[] = {T(1.0 / 12),
                          T(-1.0 / 720),
                          T(1.0 / 30240),
                          T(-1.0 / 1209600),
                          T(1.0 / 47900160),
                          T(-691.0 / 1307674368000.0),
                          T(1.0 / 74724249600.0),
                          T(-3617.0 / 10670622842880000.0)};
  T factor = power * s / at;
  for (int j = 0; j < 8; ++j) {
    const T term = factor * kTerms[j];
    sum += term;
    if (::fabs(term) < ::fabs(sum) * std::numeric_limits<T>::epsilon() / 8) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (at * at);
  }
  return sum;
}

/// Returns Hurwitz's zeta function. Below 0 the terms are those of three sums from above 0, as powers of negative
/// numbers are those of positive ones up to a sign: of the distances to the integers on both sides, and beyond q.
template <class T>
LM_HD T hurwitz_zeta(T s, T q) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  if (s == 1) return kInfinity;
  if (!(s > 1) || q != q) return kNan;
  if (q > 0) return zeta_above_zero(s, q);
  if (q == ::floor(q)) return kInfinity;
  if (s != ::floor(s)) return kNan;  // q^-s is not real
  const T right = zeta_above_zero(s, T(q - ::floor(q)));
  const T left = zeta_above_zero(s, T(::ceil(q) - q));
  const T beyond = zeta_above_zero(s, 1 - q);
  return ::fmod(s, T(2)) == 0 ? right + (left - beyond) : right - left + beyond;
}

}  // namespace special

/// Returns the inverse of erf: polynomials, or rational functions in double; different ones for |a| > 0.997.
template <FloatOperand X>
LM_HD X erfinv(X a) {
  const X target = abs(a);
  const X w = -log((1 - target) * (1 + target));
  const auto of_far = [&](X y) { return where(target < 1, y, where(target == 1, kInfinityOf<X>, kNanOf<X>)); };
  X y;
  if constexpr (sizeof(typename X::value_type) == 8) {
    y = special::erfinv_near(target, w);
    const auto far = !(w < 5);
    if (any(far)) y = where(far, of_far(special::erfinv_far(target)), y);
  } else {
    y = of_far(special::erfinv_in_float(target, w));
  }
  return copysign(y, a);
}

/// Returns the logarithmic derivative of gamma: reflected below 1/2, raised above 10 by psi(x) = psi(x + 1) - 1/x,
/// where the asymptotic series applies (Abramowitz and Stegun, 6.3.5, 6.3.7, 6.3.18).
template <FloatOperand X>
LM_HD X digamma(X a) {
  const auto below = a < 0.5;
  X x = where(below, 1 - a, a);
  X sum = 0;
  for (int i = 0; i < 10; ++i) {
    const auto small = x < 10;
    sum = sum - where(small, 1 / x, 0);
    x = where(small, x + 1, x);
  }
  const X w = 1 / (x * x);
  const X tail =
      w * special::polynomial(w, 1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12);
  const X up = sum + log(x) - 0.5 / x - tail;
  // tan has the period pi, so its argument is reduced exactly.
  const X reflected = up - 3.14159265358979323846 / tan(3.14159265358979323846 * (a - round(a)));
  const X value = where(below, reflected, up);
  const X pole = where(a == 0, copysign(X(kInfinityOf<X>), -a), X(kNanOf<X>));
  return where((a <= 0) & (a == floor(a)), pole, where(a == X(kInfinityOf<X>), a, value));
}

/// Returns the sum of (b + k)^-a over k >= 0.
template <FloatOperand X>
LM_HD X zeta(std::type_identity_t<X> a, X b) {
  const X of_two = special::zeta_of_two(b);
  if (!any(a != 2)) return of_two;
  typename X::value_type lanes[X::size];
  for (int i = 0; i < X::size; ++i) lanes[i] = a[i] == 2 ? of_two[i] : special::hurwitz_zeta(a[i], b[i]);
  return X::load(lanes);
}

/// True if the sign bit is set, for zeros and NaN too.
template <FloatOperand X>
LM_HD auto signbit(X a) {
  return copysign(1, a) < 0;
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
