#pragma once

#include <initializer_list>
#include <type_traits>

#include "ops/simd/hd.h"
#include "ops/simd/isa.h"

namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// The operand type that finds out which operands a formula reads.
///
/// Every operator and function of `Vec<T>` returns the union of its operands' bits; a number has none. So, at compile
/// time:
///
///     constexpr unsigned used = Op::grad(Probe{1}, Probe{2}, Probe{4}).bits;
///
/// has bit 2 if and only if the gradient names its second operand. An operand that is named counts as read, even if it
/// has no effect (`0 * x`). Braces give the bits of an operand, `Probe{4}`; a number that converts, `Probe(4)` or the 4
/// of `4 * x`, has none.
struct Probe {
  using mask_type = Probe;

  unsigned bits = 0;

  constexpr Probe() = default;
  /// Constructs an operand with these bits.
  LM_HD constexpr Probe(std::initializer_list<unsigned> operand) : bits(*operand.begin()) {}
  /// Converts a literal, which has no bits.
  template <class U>
    requires std::is_arithmetic_v<U>
  LM_HD constexpr Probe(U) {}

  LM_HD friend constexpr Probe operator+(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator-(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator*(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator/(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator&(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator|(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator^(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator<<(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator>>(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator==(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator!=(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator<(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator<=(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator>(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator>=(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe operator-(Probe a) { return a; }
  LM_HD friend constexpr Probe operator!(Probe a) { return a; }
  LM_HD friend constexpr Probe operator~(Probe a) { return a; }

  LM_HD constexpr Probe& operator+=(Probe other) { return *this = both(*this, other); }
  LM_HD constexpr Probe& operator-=(Probe other) { return *this = both(*this, other); }
  LM_HD constexpr Probe& operator*=(Probe other) { return *this = both(*this, other); }
  LM_HD constexpr Probe& operator/=(Probe other) { return *this = both(*this, other); }

  LM_HD friend constexpr Probe where(Probe mask, Probe a, Probe b) { return both(mask, both(a, b)); }

  LM_HD friend constexpr Probe negative(Probe a) { return a; }
  LM_HD friend constexpr Probe square(Probe a) { return a; }
  LM_HD friend constexpr Probe reciprocal(Probe a) { return a; }
  LM_HD friend constexpr Probe abs(Probe a) { return a; }
  LM_HD friend constexpr Probe sign(Probe a) { return a; }
  LM_HD friend constexpr Probe sqrt(Probe a) { return a; }
  LM_HD friend constexpr Probe exp(Probe a) { return a; }
  LM_HD friend constexpr Probe exp2(Probe a) { return a; }
  LM_HD friend constexpr Probe expm1(Probe a) { return a; }
  LM_HD friend constexpr Probe log(Probe a) { return a; }
  LM_HD friend constexpr Probe log1p(Probe a) { return a; }
  LM_HD friend constexpr Probe log2(Probe a) { return a; }
  LM_HD friend constexpr Probe log10(Probe a) { return a; }
  LM_HD friend constexpr Probe sin(Probe a) { return a; }
  LM_HD friend constexpr Probe cos(Probe a) { return a; }
  LM_HD friend constexpr Probe tan(Probe a) { return a; }
  LM_HD friend constexpr Probe asin(Probe a) { return a; }
  LM_HD friend constexpr Probe acos(Probe a) { return a; }
  LM_HD friend constexpr Probe atan(Probe a) { return a; }
  LM_HD friend constexpr Probe sinh(Probe a) { return a; }
  LM_HD friend constexpr Probe cosh(Probe a) { return a; }
  LM_HD friend constexpr Probe tanh(Probe a) { return a; }
  LM_HD friend constexpr Probe asinh(Probe a) { return a; }
  LM_HD friend constexpr Probe acosh(Probe a) { return a; }
  LM_HD friend constexpr Probe atanh(Probe a) { return a; }
  LM_HD friend constexpr Probe erf(Probe a) { return a; }
  LM_HD friend constexpr Probe erfc(Probe a) { return a; }
  LM_HD friend constexpr Probe sigmoid(Probe a) { return a; }
  LM_HD friend constexpr Probe floor(Probe a) { return a; }
  LM_HD friend constexpr Probe ceil(Probe a) { return a; }
  LM_HD friend constexpr Probe trunc(Probe a) { return a; }
  LM_HD friend constexpr Probe round(Probe a) { return a; }
  LM_HD friend constexpr Probe isnan(Probe a) { return a; }
  LM_HD friend constexpr Probe isinf(Probe a) { return a; }
  LM_HD friend constexpr Probe isfinite(Probe a) { return a; }

  LM_HD friend constexpr Probe real(Probe a) { return a; }
  LM_HD friend constexpr Probe imag(Probe a) { return a; }
  LM_HD friend constexpr Probe conj(Probe a) { return a; }
  LM_HD friend constexpr Probe angle_gradient(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe angle(Probe a) { return a; }
  LM_HD friend constexpr Probe frac(Probe a) { return a; }
  LM_HD friend constexpr Probe lgamma(Probe a) { return a; }
  LM_HD friend constexpr Probe digamma(Probe a) { return a; }
  LM_HD friend constexpr Probe erfinv(Probe a) { return a; }
  LM_HD friend constexpr Probe signbit(Probe a) { return a; }
  LM_HD friend constexpr Probe sinc(Probe a) { return a; }

  LM_HD friend constexpr Probe maximum(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe minimum(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe pow(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe atan2(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe hypot(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe copysign(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe fmod(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe nextafter(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe logaddexp(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe logaddexp2(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe zeta(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe floor_divide(Probe a, Probe b) { return both(a, b); }
  LM_HD friend constexpr Probe remainder(Probe a, Probe b) { return both(a, b); }

 private:
  LM_HD static constexpr Probe both(Probe a, Probe b) { return Probe{a.bits | b.bits}; }
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
