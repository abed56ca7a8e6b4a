#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/simd/hd.h"
#include "ops/simd/isa.h"

/// Functions that are formulas over the operators and basic functions of an operand type `X`, written once for `Vec<T>`
/// and `Lane<T>`. They are friends of a base class of `X`, so that argument-dependent lookup finds them and a literal
/// converts in any argument: `maximum(x, 0)`.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// Formulas of every number type.
template <class X>
struct Formulas {
  friend LM_HD X negative(X a) { return -a; }
  friend LM_HD X square(X a) { return a * a; }
  // Functions that formulas shared with complex numbers call.
  friend LM_HD X real(X a) { return a; }
  friend LM_HD X conj(X a) { return a; }
};

/// Formulas of `float` and `double`; `M` is the mask of `X`.
template <class X, class M, class T>
struct FloatFormulas : Formulas<X> {
  /// A constant, since a CUDA thread cannot call `std::numeric_limits`.
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  friend LM_HD M isnan(X a) { return a != a; }
  friend LM_HD M isinf(X a) { return abs(a) == kInfinity; }
  friend LM_HD M isfinite(X a) { return abs(a) < kInfinity; }

  friend LM_HD X reciprocal(X a) { return 1 / a; }
  friend LM_HD X frac(X a) { return a - trunc(a); }
  /// Returns the angle of a number on the real axis.
  friend LM_HD X angle(X a) { return where(a < 0, 3.14159265358979323846, where(isnan(a), a, 0)); }

  friend LM_HD X angle_gradient(X, X dy) { return 0 * dy; }

  /// Returns log(exp(a) + exp(b)) without overflow of the exponentials.
  friend LM_HD X logaddexp(X a, X b) {
    const X larger = maximum(a, b);
    return where(a == b, a + 0.69314718055994530942, larger + log1p(exp(-abs(a - b))));
  }
  /// Returns log2(2**a + 2**b).
  friend LM_HD X logaddexp2(X a, X b) {
    const X larger = maximum(a, b);
    return where(a == b, a + 1, larger + log1p(exp2(-abs(a - b))) * 1.44269504088896340736);
  }

  /// Returns -1, 0 or 1; 0 for -0 and NaN for NaN, as numpy does.
  friend LM_HD X sign(X a) { return where(a > 0, 1, where(a < 0, -1, where(a == 0, 0, a))); }

  /// Returns the larger operand, or NaN if one is NaN.
  friend LM_HD X maximum(X a, X b) { return where(isnan(a), a, larger(a, b)); }

  /// Returns the smaller operand, or NaN if one is NaN.
  friend LM_HD X minimum(X a, X b) { return where(isnan(a), a, smaller(a, b)); }

  /// Returns 1 / (1 + exp(-a)). The exponential of -|a| never overflows, so the left tail keeps its precision.
  friend LM_HD X sigmoid(X a) {
    const X z = exp(-abs(a));
    return where(a < 0, z, 1) / (1 + z);
  }

  /// Returns a times the distribution function of the standard normal distribution at a.
  friend LM_HD X gelu(X a) { return 0.5 * a * (1 + erf(0.70710678118654752440 * a)); }

  /// Returns the remainder of `floor_divide`, with the sign of the divisor, as Python's `%` and numpy do.
  friend LM_HD X remainder(X a, X b) {
    const X rest = fmod(a, b);
    const X moved = where((rest < 0) ^ (b < 0), rest + b, rest);
    return where(rest == 0, copysign(0, b), moved);
  }

  /// Returns the quotient rounded down, as Python's `//` does. If the divisor is 0 or an operand infinite, it is the
  /// quotient itself, as in the Python array API standard. Not `floor(a / b)`: rounding may take the quotient to the
  /// next integer, and 5 // 0.1 is 49.
  friend LM_HD X floor_divide(X a, X b) {
    const X rest = fmod(a, b);
    const X quotient = (a - rest) / b - where((rest != 0) & ((rest < 0) ^ (b < 0)), 1, 0);
    const X down = floor(quotient);
    const X nearest = where(quotient - down > 0.5, down + 1, down);
    return where((b == 0) | isinf(a) | isinf(b), a / b, where(quotient == 0, copysign(0, a / b), nearest));
  }
};

/// Formulas of the integers.
template <class X, class M, class T>
struct IntegerFormulas : Formulas<X> {
  friend LM_HD M isnan(X) { return M(false); }
  friend LM_HD M isinf(X) { return M(false); }
  friend LM_HD M isfinite(X) { return M(true); }

  friend LM_HD X abs(X a) {
    if constexpr (std::is_signed_v<T>) {
      return where(a < 0, -a, a);
    } else {
      return a;
    }
  }
  friend LM_HD X sign(X a) {
    if constexpr (std::is_signed_v<T>) {
      return where(a > 0, 1, where(a < 0, -1, 0));
    } else {
      return where(a > 0, 1, 0);
    }
  }
  friend LM_HD X maximum(X a, X b) { return where(a > b, a, b); }
  friend LM_HD X minimum(X a, X b) { return where(a < b, a, b); }

  friend LM_HD X floor(X a) { return a; }
  friend LM_HD X ceil(X a) { return a; }
  friend LM_HD X trunc(X a) { return a; }
  friend LM_HD X round(X a) { return a; }
};

/// Formulas of `bool`, where `+` is or and `*` is and, as in numpy.
template <class X, class M>
struct BoolFormulas {
  friend LM_HD X operator+(X a, X b) { return a | b; }
  friend LM_HD X operator*(X a, X b) { return a & b; }
  friend LM_HD X maximum(X a, X b) { return a | b; }
  friend LM_HD X minimum(X a, X b) { return a & b; }
  friend LM_HD X abs(X a) { return a; }
  friend LM_HD X square(X a) { return a; }
  friend LM_HD M isnan(X) { return M(false); }
  friend LM_HD M isinf(X) { return M(false); }
  friend LM_HD M isfinite(X) { return M(true); }
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
