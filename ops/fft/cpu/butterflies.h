#pragma once

#include <type_traits>

#include "ops/cpu/fused.h"
#include "ops/cpu/pairs.h"
#include "ops/cpu/tables/fft.h"
#include "ops/simd/vec.h"

// Short Fourier transforms of complex numbers whose parts are of type X: one number, or a vector with one number per
// line.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

template <class T>
struct Split {
  T* re = nullptr;
  T* im = nullptr;
};
/// Exchanges the real and imaginary parts: a transform between two exchanges has the opposite sign.
template <class T>
Split<T> swapped(Split<T> x) {
  return {x.im, x.re};
}
template <class T>
Split<T> operator+(Split<T> x, std::int64_t offset) {
  return {x.re + offset, x.im + offset};
}

/// Returns sum + factor x.
template <class X>
Number<X> add_product(Number<X> sum, X factor, Number<X> x) {
  return {multiply_add(factor, x.re, sum.re), multiply_add(factor, x.im, sum.im)};
}
template <class X>
Number<X> conjugate(Number<X> x) {
  return {x.re, -x.im};
}
/// Returns -i x.
template <class X>
Number<X> turn(Number<X> x) {
  return {x.im, -x.re};
}

/// Loads an X, which is T or Vec<T>.
template <class X, class T>
X load_as(const T* from) {
  if constexpr (std::is_same_v<X, T>) {
    return *from;
  } else {
    return X::load(from);
  }
}
template <class X, class T>
Number<X> load_number(Split<T> from, std::int64_t at) {
  return {load_as<X>(from.re + at), load_as<X>(from.im + at)};
}
template <class T>
void store_parts(Number<T> x, Split<T> to, std::int64_t at) {
  to.re[at] = x.re;
  to.im[at] = x.im;
}
template <class T>
void store_parts(Number<simd::Vec<T>> x, Split<T> to, std::int64_t at) {
  x.re.store(to.re + at);
  x.im.store(to.im + at);
}

/// Calls f.operator()<X>(i) over [begin, end): with vectors while there are enough numbers, then one by one.
template <class T, class F>
[[gnu::always_inline]] inline void for_each_vector(std::int64_t begin, std::int64_t end, F&& f) {
  using V = simd::Vec<T>;
  std::int64_t i = begin;
  for (; i + V::size <= end; i += V::size) f.template operator()<V>(i);
  for (; i < end; ++i) f.template operator()<T>(i);
}

template <int kRadix, class X>
void butterfly(Number<X>* x);

/// Transforms kFirst * kSecond numbers in place, given cos and sin of -2 pi k over their number.
template <int kFirst, int kSecond, class X, std::size_t kRoots>
[[gnu::always_inline]] inline void composite_butterfly(Number<X>* x, const long double (&cosines)[kRoots],
                                                       const long double (&sines)[kRoots]) {
  Number<X> parts[kSecond][kFirst];
#pragma GCC unroll 4
  for (int l = 0; l < kSecond; ++l) {
#pragma GCC unroll 4
    for (int k = 0; k < kFirst; ++k) parts[l][k] = x[l + kSecond * k];
    butterfly<kFirst>(parts[l]);
#pragma GCC unroll 4
    for (int k = 1; k < kFirst; ++k) {
      if (l == 0) continue;
      parts[l][k] = 4 * l * k == kFirst * kSecond ? turn(parts[l][k])
                                                  : Number<X>{X(cosines[l * k]), X(sines[l * k])} * parts[l][k];
    }
  }
#pragma GCC unroll 4
  for (int k = 0; k < kFirst; ++k) {
    Number<X> line[kSecond];
#pragma GCC unroll 4
    for (int l = 0; l < kSecond; ++l) line[l] = parts[l][k];
    butterfly<kSecond>(line);
#pragma GCC unroll 4
    for (int j = 0; j < kSecond; ++j) x[k + kFirst * j] = line[j];
  }
}

/// Transforms kRadix numbers in place.
template <int kRadix, class X>
[[gnu::always_inline]] inline void butterfly(Number<X>* x) {
  if constexpr (kRadix == 2) {
    const Number<X> a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  } else if constexpr (kRadix == 3) {
    const X sin(0.866025403784438646763723170752936183L);
    const Number<X> sum = x[1] + x[2];
    const Number<X> side = turn(x[1] - x[2]);
    const Number<X> middle = add_product(x[0], X(-0.5), sum);
    x[0] = x[0] + sum;
    x[1] = add_product(middle, sin, side);
    x[2] = add_product(middle, -sin, side);
  } else if constexpr (kRadix == 4) {
    const Number<X> a = x[0] + x[2];
    const Number<X> b = x[0] - x[2];
    const Number<X> c = x[1] + x[3];
    const Number<X> d = turn(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else if constexpr (kRadix == 5) {
    const X cos1(0.309016994374947424102293417182819059L);
    const X cos2(-0.809016994374947424102293417182819059L);
    const X sin1(0.951056516295153572116439333379382143L);
    const X sin2(0.587785252292473129168705954639072769L);
    const Number<X> s1 = x[1] + x[4];
    const Number<X> s2 = x[2] + x[3];
    const Number<X> d1 = x[1] - x[4];
    const Number<X> d2 = x[2] - x[3];
    const Number<X> a = add_product(add_product(x[0], cos1, s1), cos2, s2);
    const Number<X> b = add_product(add_product(x[0], cos2, s1), cos1, s2);
    const Number<X> c = turn(add_product(sin2 * d2, sin1, d1));
    const Number<X> d = turn(add_product(-sin1 * d2, sin2, d1));
    x[0] = x[0] + (s1 + s2);
    x[1] = a + c;
    x[2] = b + d;
    x[3] = b - d;
    x[4] = a - c;
  } else if constexpr (kRadix == 8) {
    const X half(0.707106781186547524400844362104849039L);
    Number<X> even[4] = {x[0], x[2], x[4], x[6]};
    Number<X> odd[4] = {x[1], x[3], x[5], x[7]};
    butterfly<4>(even);
    butterfly<4>(odd);
    // Multiplies by exp(-pi i / 4) and its powers; two of them are scaled by `half` below.
    odd[1] = {odd[1].re + odd[1].im, odd[1].im - odd[1].re};
    odd[2] = turn(odd[2]);
    odd[3] = {odd[3].im - odd[3].re, -(odd[3].re + odd[3].im)};
    x[0] = even[0] + odd[0];
    x[1] = add_product(even[1], half, odd[1]);
    x[2] = even[2] + odd[2];
    x[3] = add_product(even[3], half, odd[3]);
    x[4] = even[0] - odd[0];
    x[5] = add_product(even[1], -half, odd[1]);
    x[6] = even[2] - odd[2];
    x[7] = add_product(even[3], -half, odd[3]);
  } else if constexpr (kRadix == 7) {
    // cos and sin of 2 pi k / 7.
    constexpr long double kCosines[] = {1, 0.623489801858733530525004884004239811L,
                                        -0.222520933956314404288902564496794760L,
                                        -0.900968867902419126236102319507445051L};
    constexpr long double kSines[] = {0, 0.781831482468029808708444526674057751L,
                                      0.974927912181823607018131682993931217L, 0.433883739117558120475768332848358754L};
    const Number<X> first = x[0];
    Number<X> sums[3];
    Number<X> differences[3];
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      sums[k] = x[k + 1] + x[6 - k];
      differences[k] = x[k + 1] - x[6 - k];
    }
    x[0] = first + (sums[0] + (sums[1] + sums[2]));
#pragma GCC unroll 3
    for (int j = 1; j < 4; ++j) {
      Number<X> a = first;
      Number<X> b = X(kSines[j]) * differences[0];
#pragma GCC unroll 3
      for (int k = 1; k < 4; ++k) {
        const int turns = j * k % 7;
        const int near = turns < 4 ? turns : 7 - turns;
        a = add_product(a, X(kCosines[near]), sums[k - 1]);
        if (k > 1) b = add_product(b, X(turns < 4 ? kSines[near] : -kSines[near]), differences[k - 1]);
      }
      x[j] = a + turn(b);
      x[7 - j] = a - turn(b);
    }
  } else if constexpr (kRadix == 9) {
    // cos and sin of -2 pi k / 9.
    constexpr long double kCosines[] = {1, 0.766044443118978035202392650555416674L,
                                        0.173648177666930348851716626769314796L, 0,
                                        -0.939692620785908384054109277324731470L};
    constexpr long double kSines[] = {0, -0.642787609686539326322643409907263433L,
                                      -0.984807753012208059366743024589523014L, 0,
                                      -0.342020143325668733044099614682259580L};
    composite_butterfly<3, 3>(x, kCosines, kSines);
  } else {
    static_assert(kRadix == 16);
    constexpr long double kCos = 0.923879532511286756128183189396788287L;
    constexpr long double kSin = 0.382683432365089771728459984030398867L;
    constexpr long double kHalf = 0.707106781186547524400844362104849039L;
    // cos and sin of -2 pi k / 16.
    constexpr long double kCosines[] = {1, kCos, kHalf, kSin, 0, -kSin, -kHalf, -kCos, -1, -kCos};
    constexpr long double kSines[] = {0, -kSin, -kHalf, -kCos, -1, -kCos, -kHalf, -kSin, 0, kSin};
    composite_butterfly<4, 4>(x, kCosines, kSines);
  }
}

/// Computes rows j to j + kRows - 1 of the transform of an odd number of numbers, and the opposite rows, from the sums
/// and differences of opposite inputs: the sums times cosines, plus or minus the differences times sines. `roots`
/// points to those of row j.
template <int kRows, class X, class T>
[[gnu::always_inline]] inline void odd_rows(Split<const T> roots, std::int64_t half, const Number<X>& first,
                                            const Number<X>* sums, const Number<X>* differences, Number<X>* low,
                                            Number<X>* high) {
  Number<X> a[kRows];
  Number<X> b[kRows];
  for (int i = 0; i < kRows; ++i) {
    a[i] = first;
    b[i] = {X(T(0)), X(T(0))};
  }
  for (std::int64_t k = 0; k < half; ++k) {
    for (int i = 0; i < kRows; ++i) {
      a[i] = add_product(a[i], X(roots.re[i * half + k]), sums[k]);
      b[i] = add_product(b[i], X(roots.im[i * half + k]), differences[k]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    low[i] = a[i] + turn(b[i]);
    high[-i] = a[i] - turn(b[i]);
  }
}

/// Transforms an odd number of numbers in place, with a quarter of the multiplications of the definition.
template <class X, class T>
void odd_butterfly(const FftPass<T>& pass, Number<X>* x) {
  constexpr int kRows = 2;
  const std::int64_t half = pass.radix / 2;
  Number<X> sums[kLargestRadix / 2];
  Number<X> differences[kLargestRadix / 2];
  const Number<X> first = x[0];
  Number<X> total = first;
  for (std::int64_t k = 0; k < half; ++k) {
    sums[k] = x[k + 1] + x[pass.radix - 1 - k];
    differences[k] = x[k + 1] - x[pass.radix - 1 - k];
    total = total + sums[k];
  }
  x[0] = total;
  Split<const T> roots{pass.root_re, pass.root_im};
  std::int64_t j = 1;
  for (; j + kRows - 1 <= half; j += kRows, roots = roots + kRows * half) {
    odd_rows<kRows>(roots, half, first, sums, differences, x + j, x + pass.radix - j);
  }
  for (; j <= half; ++j, roots = roots + half) {
    odd_rows<1>(roots, half, first, sums, differences, x + j, x + pass.radix - j);
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
