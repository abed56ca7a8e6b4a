#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "ops/special/formulas/either.h"

// The regularized incomplete gamma functions P and Q = 1 - P, computed in four ways, as in A. R. DiDonato and A. H.
// Morris, "Computation of the incomplete gamma function ratios and their inverse", ACM Transactions on Mathematical
// Software 12, 1986: the power series of P; that of Q for small x; the continued fraction of Q; for large a and x near
// it, N. M. Temme's uniform expansion. One is computed as 1 minus the other only if it is about as large, or larger.

namespace lamella::special {
inline namespace LM_SIMD_ISA {

/// Relative size below which a term of a sum is negligible, for results of type T.
template <class T>
inline constexpr double kEps = std::numeric_limits<T>::epsilon() / 2;
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr int kMostTerms = 10000;

/// Returns log(gamma(1 + a)) for 0 <= a <= 1.2: a (1 - a) times a rational function, which is accurate near its zeros.
LM_HD inline double log_gamma_of_next(double a) {
  return a * (1 - a) *
         (polynomial(a, 6.0972619722872620363e-7, -0.000057970593048230185155, -0.0078369724540117729399,
                     -0.1174952922860792346, -0.61861404003242103319, -1.4336205837987730769, -1.4988351597259081919,
                     -0.57721566490153284524) /
          polynomial(a, 0.0025392752626056825477, 0.064448122393853359068, 0.53044157083619330989,
                     1.9439018687340857804, 3.4982172886170454512, 3.0215509285355361094, 1.0));
}

/// Returns gamma(a + 1) divided by Stirling's sqrt(2 pi a) (a / e)^a, for a >= 1.
LM_HD inline double stirling_rest(double a) {
  const double u = 1 / a;
  return polynomial(u, 0.00071799301826653537355, 0.089388075302688977619, 1.6149149559250971806, 9.8185069434704138762,
                    27.050241189424400417, 40.828881189621080201, 36.486944671419536021, 19.938758515516964708,
                    6.2935984684461081756, 0.99999999999999997084) /
         polynomial(u, 0.028557017200927441001, 0.9771265201309702286, 7.7944810542429792729, 23.825759245209480184,
                    37.874179994676179402, 34.849915561306760599, 19.417764198704224697, 6.2102651351127556769, 1.0);
}

/// Returns m - log(1 + m) for |m| <= 0.3, where the difference would cancel.
LM_HD inline double log_gap(double m) {
  return m * m *
         (polynomial(m, -8.547193634345059396e-7, 0.00002665661918533339326, 0.016690960590791751683,
                     0.20029164563720155052, 0.85094229339287124689, 1.6445436155401707568, 1.4764448548995698639,
                     0.50000000000000000002) /
          polynomial(m, 0.017534697699934285821, 0.26053465207308533639, 1.4208031733742302273, 3.7601896088134252456,
                     5.2021248153908791457, 3.6195563764658063947, 1.0));
}

/// Returns x^a exp(-x) / gamma(a + 1).
LM_HD inline double leading(double a, double x) {
  if (a < 1) return std::exp(a * std::log(x) - x - log_gamma_of_next(a));
  const double m = (x - a) / a;
  const double exponent = std::fabs(m) <= 0.3 ? -a * log_gap(m) : a * std::log(x / a) + (a - x);
  return std::exp(exponent) / (std::sqrt(2 * std::numbers::pi * a) * stirling_rest(a));
}

/// Returns P by the series of x^n / ((a + 1) .. (a + n)) (DLMF 8.7.1).
template <class T>
LM_HD double lower_series(double a, double x) {
  const double factor = leading(a, x);
  if (factor == 0) return 0;
  double sum = 1;
  double term = 1;
  double at = a;
  for (int n = 0; n < kMostTerms && term > kEps<T> * sum; ++n) {
    at += 1;
    term *= x / at;
    sum += term;
  }
  return factor * sum;
}

/// Returns Q for small x without subtracting P from 1 (DLMF 8.7.1 with 8.2.5).
template <class T>
LM_HD double upper_series(double a, double x) {
  double sum = 0;
  double power = 1;
  for (int n = 1; n < kMostTerms; ++n) {
    power *= -x / n;
    const double term = power / (a + n);
    sum += term;
    if (std::fabs(term) <= kEps<T> * std::fabs(sum)) break;
  }
  const double exponent = a * std::log(x) - log_gamma_of_next(a);
  return -std::expm1(exponent) - std::exp(exponent) * a * sum;
}

/// Returns Q by Legendre's continued fraction (DLMF 8.9.2, contracted: Abramowitz and Stegun, 6.5.31), with Steed's
/// recurrence.
template <class T>
LM_HD double upper_fraction(double a, double x) {
  const double factor = leading(a, x) * a;
  if (factor == 0) return 0;
  double denominator = x + 1 - a;
  double inverse = 1 / denominator;
  double step = inverse;
  double fraction = inverse;
  for (int n = 1; n < kMostTerms; ++n) {
    const double numerator = n * (a - n);
    denominator += 2;
    inverse = 1 / (numerator * inverse + denominator);
    step *= denominator * inverse - 1;
    fraction += step;
    if (std::fabs(step) <= kEps<T> * std::fabs(fraction)) break;
  }
  return factor * fraction;
}

/// Returns P, or Q if `upper`, for large a: half of erfc, plus the same exponential times a series in 1 / a (DLMF
/// 8.12.3, 8.12.4, 8.12.7).
template <class T>
LM_HD double uniform(double a, double x, bool upper) {
  constexpr int kRows = 12;
  constexpr int kTerms = 17;
  // The leading coefficients of the power series in eta of c_0, c_1, .. (DLMF 8.12.12), sufficient for a >= 20 and |x -
  // a| <= 0.3 a.
  static constexpr double kTemme[kRows][kTerms] = {
      {-0.33333333333333333333, 0.083333333333333333333, -0.014814814814814814815, 0.0011574074074074074074,
       0.00035273368606701940035, -0.0001787551440329218107, 0.000039192631785224377817, -2.1854485106799921615e-6,
       -1.8540622107151599607e-6, 8.296711340953086005e-7, -1.7665952736826079304e-7, 6.7078535434014985804e-9,
       1.0261809784240308043e-8, -4.3820360184533531866e-9, 9.1476995822367902342e-10, -2.5514193994946249767e-11,
       -5.8307721325504250675e-11},
      {-0.0018518518518518518519, -0.0034722222222222222222, 0.0026455026455026455026, -0.00099022633744855967078,
       0.00020576131687242798354, -4.0187757201646090535e-7, -0.000018098550334489977837, 7.6491609160811100846e-6,
       -1.6120900894563446004e-6, 4.6471278028074343423e-9, 1.3786334469157209593e-7, -5.752545603517704964e-8,
       1.1951628599778147324e-8, -1.7543241719747647624e-11, -1.0091543710600412627e-9, 4.1627929918425826362e-10},
      {0.0041335978835978835979, -0.0026813271604938271605, 0.00077160493827160493827, 2.0093878600823045267e-6,
       -0.00010736653226365160522, 0.000052923448829120125416, -0.000012760635188618727713, 3.4235787340961380742e-8,
       1.3721957309062933206e-6, -6.2989921383800550229e-7, 1.4280614206064241792e-7, -2.0477098421990866015e-10,
       -1.4092529910867521053e-8, 6.2289740849220220336e-9, -1.3670488396617113499e-9},
      {0.00064943415637860082305, 0.00022947209362139917695, -0.00046918949439525571213, 0.00026772063206283885296,
       -0.000075618016718839764107, -2.3965051138672966519e-7, 0.000011082654115347302361, -5.6749528269915965675e-6,
       1.4230900732435883915e-6, -2.7861080291528142241e-11, -1.695840409193027729e-7, 8.0994649053880823634e-8,
       -1.9111168485973654061e-8},
      {-0.0008618882909167116986, 0.00078403922172006662747, -0.00029907248030319017973, -1.4638452578843418178e-6,
       0.000066414982154651221867, -0.000039683650471794346644, 0.000011375726970678419098, 2.5074972262375328017e-10,
       -1.6954149536558306015e-6, 8.9075075322053096888e-7, -2.2929348340008048706e-7},
      {-0.00033679855336635815031, -0.000069728137583658577743, 0.00027727532449593920787, -0.000199325705161888477,
       0.000067977804779372078388, 1.4190629206439670148e-7, -0.000013594048189768693278, 8.0184702563342015397e-6,
       -2.2914811765080951704e-6, -3.2524735512984539517e-10, 3.4652846491085264956e-7},
      {0.00053130793646399222317, -0.00059216643735369388286, 0.00027087820967180448277, 7.9023532326603278721e-7,
       -0.000081539693675619687509, 0.0000561168275310624965, -0.000018329116582843375567, -3.0796134506033047826e-9,
       3.4651553688036090867e-6, -2.0291327396058603727e-6},
      {0.00034436760689237767125, 0.000051717909082605921934, -0.00033493161081142236312, 0.00028126951547632370227,
       -0.00010976582244684731024, -1.2741009095484485379e-7, 0.000027744451511563644157, -0.000018263488805711332661},
      {-0.00065262391859530941892, 0.00083949872067208727999, -0.00043829709854172100506, -6.9690914584205519714e-7,
       0.00016644846642067547837, -0.00012783517679769218585, 0.000046299532636913042906},
      {-0.00059676129019274625012, -0.000072048954160200105591, 0.00067823088376673283616, -0.0006401475260262758451,
       0.00027750107634328704499},
      {0.0013324454494800656371, -0.0019144384985654775265, 0.001108936913459663734},
      {0.0015797276607308349591},
  };
  const double m = (x - a) / a;
  const double gap = log_gap(m);
  const double eta = std::copysign(std::sqrt(2 * gap), m);
  double sum = 0;
  constexpr bool kShort = std::is_same_v<T, float>;
  for (int k = kShort ? 4 : kRows; k-- > 0;) {
    double c = 0;
    for (int n = kShort ? 8 : kTerms; n-- > 0;) c = c * eta + kTemme[k][n];
    sum = sum / a + c;
  }
  const double rest = std::exp(-a * gap) / std::sqrt(2 * std::numbers::pi * a) * sum;
  const double root = eta * std::sqrt(a / 2);
  return upper ? std::erfc(root) / 2 + rest : std::erfc(-root) / 2 - rest;
}

LM_HD inline bool is_uniform(double a, double x) { return a >= 20 && std::fabs(x - a) <= 0.3 * a; }

/// Returns P, or Q if `upper`, at the ends of its domain and outside of it.
LM_HD inline double at_the_ends(double a, double x, bool upper) {
  double lower = kNan;
  if (a >= 0 && x >= 0) {
    if (a == 0) {
      lower = x > 0 ? 1 : kNan;
    } else if (x == 0) {
      lower = 0;
    } else if (std::isinf(a)) {
      lower = std::isinf(x) ? kNan : 0;
    } else {
      lower = 1;  // x is infinite
    }
  }
  return upper ? 1 - lower : lower;
}

LM_HD inline bool is_within(double a, double x) {
  return a > 0 && x > 0 && a <= std::numeric_limits<double>::max() && x <= std::numeric_limits<double>::max();
}

template <class T>
LM_HD double gammainc(double a, double x) {
  if (!is_within(a, x)) return at_the_ends(a, x, false);
  if (is_uniform(a, x)) return uniform<T>(a, x, false);
  // The series has no negative term: it is accurate for any x, and a term costs less than one of the fraction.
  return x <= a + 8 ? lower_series<T>(a, x) : 1 - upper_fraction<T>(a, x);
}

template <class T>
LM_HD double gammaincc(double a, double x) {
  if (!is_within(a, x)) return at_the_ends(a, x, true);
  if (is_uniform(a, x)) return uniform<T>(a, x, true);
  if (x > 1.1) return x > a ? upper_fraction<T>(a, x) : 1 - lower_series<T>(a, x);
  const double largest = x <= 0.5 ? -0.4 / std::log(x) : 0.75 * x;
  return a <= largest ? upper_series<T>(a, x) : 1 - lower_series<T>(a, x);
}

/// Returns the derivative of P by x: x^(a - 1) exp(-x) / gamma(a).
LM_HD inline double density(double a, double x) {
  if (is_within(a, x)) return leading(a, x) * (a / x);
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0)) return kNan;
  if (x > 0) return 0;
  return a < 1 ? std::numeric_limits<double>::infinity() : a == 1 ? 1 : 0;
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::special
