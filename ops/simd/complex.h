#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/simd/hd.h"
#include "ops/simd/isa.h"
#include "ops/simd/lane.h"

#ifdef __CUDACC__
#include <thrust/complex.h>
#endif

/// `ComplexOf<R>`: the operand type of a formula for complex elements, made of two operands `R`, a `Vec` or a `Lane`,
/// for the real and the imaginary parts.
///
/// It has the operators and functions of `R` that complex numbers have. Its exponential, trigonometric and power
/// functions are those of C (of Thrust in a CUDA thread), lane by lane, with C99's special values and branch cuts
/// except for the signs of some zeros.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

#ifdef __CUDACC__
namespace complex_library = thrust;
template <class T>
using LibraryComplex = thrust::complex<T>;
#else
namespace complex_library = std;
template <class T>
using LibraryComplex = std::complex<T>;
#endif

/// Raises `z` to an integer power by repeated squaring, which is exact if the products are.
template <class Z>
LM_HD Z complex_integer_power(Z z, int n) {
  const bool inverse = n < 0;
  Z result(1);
  for (unsigned rest = static_cast<unsigned>(inverse ? -n : n); rest != 0; rest >>= 1) {
    if (rest & 1) result = result * z;
    if (rest > 1) z = z * z;
  }
  return inverse ? Z(1) / result : result;
}

template <class R>
class ComplexOf;

/// True if `b` is an integer whose power takes a few products only.
template <class T>
LM_HD bool is_small_integer(T b) {
  return b > -100 && b < 100 && static_cast<T>(static_cast<int>(b)) == b;
}

/// Raises `a` to the power `b`, with numpy's values if either is 0.
template <class Z>
LM_HD Z complex_power(Z a, Z b) {
  using T = typename Z::value_type;
  if (b.real() == 0 && b.imag() == 0) return Z(1);
  if (a.real() == 0 && a.imag() == 0) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    return b.real() > 0 ? Z(0) : Z(nan, nan);
  }
  if (b.imag() == 0 && is_small_integer(b.real())) {
    // Uses the products of a vector, so that a lane's bits do not depend on whether it has neighbors.
    using L = ComplexOf<Lane<T>>;
    const L power = complex_integer_power(L(Lane<T>(a.real()), Lane<T>(a.imag())), static_cast<int>(b.real()));
    return Z(power.re()[0], power.im()[0]);
  }
  if (b.imag() == 0 && b.real() == T(0.5)) return complex_library::sqrt(a);
  return complex_library::pow(a, b);
}

template <class R>
class ComplexOf {
 public:
  using part_type = R;
  using T = typename R::value_type;
  using value_type = std::complex<T>;
  using mask_type = typename R::mask_type;
  using M = mask_type;
  static constexpr int size = R::size;

  ComplexOf() = default;
  LM_HD ComplexOf(R re, R im) : re_(re), im_(im) {}
  LM_HD ComplexOf(R re) : re_(re), im_(0) {}
  LM_HD ComplexOf(value_type value) : re_(value.real()), im_(value.imag()) {}
  template <class U>
    requires std::is_arithmetic_v<U>
  LM_HD ComplexOf(U value) : re_(value), im_(0) {}

  LM_HD R re() const { return re_; }
  LM_HD R im() const { return im_; }
  LM_HD value_type operator[](int lane) const { return {re_[lane], im_[lane]}; }

  /// Reads `size` values.
  LM_HD static ComplexOf load(const value_type* from) {
    const T* const parts = reinterpret_cast<const T*>(from);
    if constexpr (size == 1) {
      return {R(parts[0]), R(parts[1])};
    } else {
      return separate(R::load(parts).native(), R::load(parts + size).native(), std::make_integer_sequence<int, size>());
    }
  }
  /// Reads `n` values, at most `size`, `stride` apart; the other lanes are `pad`.
  [[gnu::noinline]] static ComplexOf load_strided_partial(const value_type* from, std::int64_t stride, int n,
                                                          value_type pad) {
    value_type lanes[size];
    for (int i = 0; i < size; ++i) lanes[i] = i < n ? from[i * stride] : pad;
    return load(lanes);
  }
  static ComplexOf load_strided(const value_type* from, std::int64_t stride) {
    return load_strided_partial(from, stride, size, value_type(1));
  }
  /// Writes `size` values.
  LM_HD void store(value_type* to) const {
    if constexpr (size == 1) {
      *to = (*this)[0];
    } else {
      interleave(to, std::make_integer_sequence<int, size>());
    }
  }
  [[gnu::noinline]] void store_strided_partial(value_type* to, std::int64_t stride, int n) const {
    value_type lanes[size];
    store(lanes);
    for (int i = 0; i < n; ++i) to[i * stride] = lanes[i];
  }
  void store_strided(value_type* to, std::int64_t stride) const { store_strided_partial(to, stride, size); }

  LM_HD friend ComplexOf operator+(ComplexOf a, ComplexOf b) { return {a.re_ + b.re_, a.im_ + b.im_}; }
  LM_HD friend ComplexOf operator-(ComplexOf a, ComplexOf b) { return {a.re_ - b.re_, a.im_ - b.im_}; }
  LM_HD friend ComplexOf operator*(ComplexOf a, ComplexOf b) {
    return {a.re_ * b.re_ - a.im_ * b.im_, a.re_ * b.im_ + a.im_ * b.re_};
  }
  /// Scaled by the larger part of the divisor, so that no intermediate overflows (R. L. Smith, CACM 5, 1962).
  LM_HD friend ComplexOf operator/(ComplexOf a, ComplexOf b) {
    const M swapped = abs(b.re_) < abs(b.im_);
    const R large = where(swapped, b.im_, b.re_);
    const R small = where(swapped, b.re_, b.im_);
    // If both parts are 0, the quotient is that of a's parts by 0.
    const R ratio = where(large == 0, 0, small / large);
    const R divisor = large + small * ratio;
    const R re = where(swapped, a.re_ * ratio + a.im_, a.re_ + a.im_ * ratio);
    const R im = where(swapped, a.im_ * ratio - a.re_, a.im_ - a.re_ * ratio);
    const R by = where(large == 0, abs(large), divisor);
    return {re / by, im / by};
  }
  LM_HD friend ComplexOf operator-(ComplexOf a) { return {-a.re_, -a.im_}; }

  // A real operand takes half of the products, so that an infinite part does not make the other one NaN.
  LM_HD friend ComplexOf operator*(ComplexOf a, R b) { return {a.re_ * b, a.im_ * b}; }
  LM_HD friend ComplexOf operator*(R a, ComplexOf b) { return {a * b.re_, a * b.im_}; }
  LM_HD friend ComplexOf operator/(ComplexOf a, R b) { return {a.re_ / b, a.im_ / b}; }
  template <class U>
    requires std::is_arithmetic_v<U>
  LM_HD friend ComplexOf operator*(ComplexOf a, U b) {
    return a * R(b);
  }
  template <class U>
    requires std::is_arithmetic_v<U>
  LM_HD friend ComplexOf operator*(U a, ComplexOf b) {
    return R(a) * b;
  }
  template <class U>
    requires std::is_arithmetic_v<U>
  LM_HD friend ComplexOf operator/(ComplexOf a, U b) {
    return a / R(b);
  }

  LM_HD friend M operator==(ComplexOf a, ComplexOf b) { return (a.re_ == b.re_) & (a.im_ == b.im_); }
  LM_HD friend M operator!=(ComplexOf a, ComplexOf b) { return (a.re_ != b.re_) | (a.im_ != b.im_); }
  LM_HD friend ComplexOf where(M mask, ComplexOf a, ComplexOf b) {
    return {where(mask, a.re_, b.re_), where(mask, a.im_, b.im_)};
  }

  LM_HD friend R real(ComplexOf a) { return a.re_; }
  LM_HD friend R imag(ComplexOf a) { return a.im_; }
  LM_HD friend ComplexOf conj(ComplexOf a) { return {a.re_, -a.im_}; }
  LM_HD friend R abs(ComplexOf a) { return hypot(a.re_, a.im_); }
  LM_HD friend R angle(ComplexOf a) { return atan2(a.im_, a.re_); }
  /// Returns i z / |z|^2 times dy, and 0 at 0.
  LM_HD friend ComplexOf angle_gradient(ComplexOf a, R dy) {
    const R re = abs(a.re_);
    const R im = abs(a.im_);
    const R size_of = where(re < im, im, re);
    const R p = a.re_ / size_of;
    const R q = a.im_ / size_of;
    const R squared = p * p + q * q;
    const M none = (size_of == 0) | isinf(re) | isinf(im);
    return {where(none, 0, -q / squared / size_of * dy), where(none, 0, p / squared / size_of * dy)};
  }
  LM_HD friend ComplexOf negative(ComplexOf a) { return -a; }
  LM_HD friend ComplexOf square(ComplexOf a) { return a * a; }
  LM_HD friend ComplexOf reciprocal(ComplexOf a) { return ComplexOf(1) / a; }
  LM_HD friend ComplexOf round(ComplexOf a) { return {round(a.re_), round(a.im_)}; }
  /// Returns z / |z|, and 0 for 0.
  LM_HD friend ComplexOf sign(ComplexOf a) {
    const R size_of = abs(a);
    return {where(size_of == 0, 0, a.re_ / size_of), where(size_of == 0, 0, a.im_ / size_of)};
  }
  LM_HD friend M isnan(ComplexOf a) { return isnan(a.re_) | isnan(a.im_); }
  LM_HD friend M isinf(ComplexOf a) { return isinf(a.re_) | isinf(a.im_); }
  LM_HD friend M isfinite(ComplexOf a) { return isfinite(a.re_) & isfinite(a.im_); }

  LM_HD friend ComplexOf sqrt(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::sqrt(z); });
  }
  LM_HD friend ComplexOf exp(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::exp(z); });
  }
  LM_HD friend ComplexOf exp2(ComplexOf a) { return exp(a * T(0.69314718055994530942)); }
  /// Returns exp(z) - 1 as expm1(x) cos(y) - 2 sin(y/2)^2 + i exp(x) sin(y), which does not cancel near 0. For infinite
  /// x the exponential has the special values for every y; expm1(-0) is 0, as in the Python array API standard.
  LM_HD friend ComplexOf expm1(ComplexOf a) {
    const R half = sin(a.im_ / 2);
    const ComplexOf whole = exp(a);
    const R near = expm1(a.re_) * cos(a.im_) - 2 * half * half;
    const R on_axis = where(a.re_ == 0, 0, expm1(a.re_));
    return {where(a.im_ == 0, on_axis, where(isinf(a.re_), whole.re_ - 1, near)), whole.im_};
  }
  LM_HD friend ComplexOf sigmoid(ComplexOf a) { return ComplexOf(1) / (ComplexOf(1) + exp(-a)); }
  LM_HD friend ComplexOf log(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::log(z); });
  }
  /// Near 0, log|1 + z| is computed as half of log1p(|1 + z|^2 - 1), which does not cancel.
  LM_HD friend ComplexOf log1p(ComplexOf a) {
    const R near = log1p(a.re_ * (2 + a.re_) + a.im_ * a.im_) / 2;
    const R far = log(hypot(a.re_ + 1, a.im_));
    return {where(hypot(a.re_, a.im_) < 0.5, near, far), atan2(a.im_, a.re_ + 1)};
  }
  LM_HD friend ComplexOf log2(ComplexOf a) { return log(a) * T(1.44269504088896340736); }
  LM_HD friend ComplexOf log10(ComplexOf a) { return log(a) * T(0.43429448190325182765); }
  LM_HD friend ComplexOf pow(ComplexOf a, ComplexOf b) {
    const T n = b.re_[0];
    if (size > 1 && is_small_integer(n) && n != 0 && !any((b.re_ != R(n)) | (b.im_ != 0))) {
      const ComplexOf power = complex_integer_power(a, static_cast<int>(n));
      const T nan = std::numeric_limits<T>::quiet_NaN();
      return where(a == ComplexOf(0), n > 0 ? ComplexOf(0) : ComplexOf(value_type(nan, nan)), power);
    }
    return a.by_lane(b, [](auto y, auto z) { return complex_power(y, z); });
  }
  LM_HD friend ComplexOf sin(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::sin(z); });
  }
  LM_HD friend ComplexOf cos(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::cos(z); });
  }
  /// Computed as -i tanh(iz), also where that is a zero at infinity.
  LM_HD friend ComplexOf tan(ComplexOf a) {
    const ComplexOf z = a.by_lane([](auto each) { return complex_library::tan(each); });
    return {where(isinf(a.im_) & isfinite(a.re_), copysign(0, a.re_), z.re_), z.im_};
  }
  LM_HD friend ComplexOf asin(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::asin(z); });
  }
  LM_HD friend ComplexOf acos(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::acos(z); });
  }
  LM_HD friend ComplexOf atan(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::atan(z); });
  }
  LM_HD friend ComplexOf sinh(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::sinh(z); });
  }
  LM_HD friend ComplexOf cosh(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::cosh(z); });
  }
  /// For an infinite real part C gives the zero beside 1 the sign of sin(2y); here it has the sign of y, as the Python
  /// array API standard requires.
  LM_HD friend ComplexOf tanh(ComplexOf a) {
    const ComplexOf z = a.by_lane([](auto each) { return complex_library::tanh(each); });
    return {z.re_, where(isinf(a.re_) & isfinite(a.im_), copysign(0, a.im_), z.im_)};
  }
  LM_HD friend ComplexOf asinh(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::asinh(z); });
  }
  LM_HD friend ComplexOf acosh(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::acosh(z); });
  }
  LM_HD friend ComplexOf atanh(ComplexOf a) {
    return a.by_lane([](auto z) { return complex_library::atanh(z); });
  }

 private:
#ifdef __CUDACC__  // a lane has no vectors to split, and nvcc does not forward these packs
  template <class V, int... kLane>
  static ComplexOf separate(V low, V high, std::integer_sequence<int, kLane...>);
  template <int... kLane>
  void interleave(value_type* to, std::integer_sequence<int, kLane...>) const;
#else
  template <class V, int... kLane>
  static ComplexOf separate(V low, V high, std::integer_sequence<int, kLane...>) {
    return {R(__builtin_shufflevector(low, high, (2 * kLane)...)),
            R(__builtin_shufflevector(low, high, (2 * kLane + 1)...))};
  }
  template <int... kLane>
  void interleave(value_type* to, std::integer_sequence<int, kLane...>) const {
    T* const parts = reinterpret_cast<T*>(to);
    const auto re = re_.native();
    const auto im = im_.native();
    R(__builtin_shufflevector(re, im, (kLane / 2 + kLane % 2 * size)...)).store(parts);
    R(__builtin_shufflevector(re, im, ((size + kLane) / 2 + kLane % 2 * size)...)).store(parts + size);
  }
#endif

  template <class F>
  LM_HD ComplexOf by_lane(F f) const {
    T re[size], im[size];
    for (int i = 0; i < size; ++i) {
      const LibraryComplex<T> result = f(LibraryComplex<T>(re_[i], im_[i]));
      re[i] = result.real();
      im[i] = result.imag();
    }
    return {R::load(re), R::load(im)};
  }
  template <class F>
  LM_HD ComplexOf by_lane(ComplexOf b, F f) const {
    T re[size], im[size];
    for (int i = 0; i < size; ++i) {
      const LibraryComplex<T> result = f(LibraryComplex<T>(re_[i], im_[i]), LibraryComplex<T>(b.re_[i], b.im_[i]));
      re[i] = result.real();
      im[i] = result.imag();
    }
    return {R::load(re), R::load(im)};
  }

  R re_;
  R im_;
};

/// True if `X` is an operand of complex numbers.
template <class X>
inline constexpr bool kIsComplexOperand = false;
template <class R>
inline constexpr bool kIsComplexOperand<ComplexOf<R>> = true;

/// The operand type for elements `T`, built on `Real<T>`, which is `Vec<T>` or `Lane<T>`.
template <template <class> class Real, class T>
struct OperandOf {
  using type = Real<T>;
  using part = T;
};
template <template <class> class Real, class T>
struct OperandOf<Real, std::complex<T>> {
  using type = ComplexOf<Real<T>>;
  using part = T;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
