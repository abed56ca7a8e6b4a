#pragma once

#include "ops/special/formulas/either.h"

// The scaled complementary error function, functions of the normal distribution based on it, and the quantile of the
// logistic distribution. The rational functions are interpolated at Chebyshev points, in 60 digits, to a relative error
// below 4e-17.

namespace lamella::special {
inline namespace LM_SIMD_ISA {

/// Returns exp(x^2) for x < 27 without the rounding error of the square: the square of x's first 26 bits is exact.
template <class X>
LM_HD X exp_of_square(X x) {
  const X shifted = x * 134217729.0;  // 2^27 + 1; splits a number as in T. J. Dekker's method
  const X high = shifted - (shifted - x);
  const X rest = (x - high) * (x + high);
  return exp(high * high) * (1 + rest * (1 + rest / 2));
}

/// Returns exp(x^2) erfc(x) for x >= 0. The forms are those of W. J. Cody, "Rational Chebyshev approximations for the
/// error function", Mathematics of Computation 23, 1969.
template <class X>
LM_HD X erfcx_of_positive(X x) {
  const auto tail = [&] {
    const X s = 1 / (x * x);
    return (polynomial(s, 18.095628728457064851, 163.47249502903317916, 207.73564374780346462, 82.561246316897884013,
                       12.093210395801551817, 0.56418958354775626763) /
            polynomial(s, 98.69338018994513142, 422.84869980351030911, 431.90251252429334064, 156.55332763795800779,
                       21.934657335848946546, 1.0)) /
           x;
  };
  const auto near = [&] {
    return polynomial(x, 1.0641780371871162752e-13, -6.5630858056751243249e-12, 0.000081903608833495170664,
                      0.0016181925936027970981, 0.015114794034174693428, 0.086661461307665961757,
                      0.33300817567479717933, 0.87993762902743636263, 1.5732771371009591851, 1.7664676296535413317,
                      1.0000000000000000076) /
           polynomial(x, 0.00014517001845150878041, 0.0028681784517108339692, 0.026862764476599760476,
                      0.15503857525395989422, 0.60355489754215493322, 1.6350843636370571293, 3.0700510063905093056,
                      3.8397619544857159911, 2.8948467967490554428, 1.0);
  };
  return either(x > 4, tail, near);
}

template <class X>
LM_HD X erfcx(X given) {
  const X x = abs(given);
  const X y = erfcx_of_positive(x);
  const auto reflected = [&] { return where(x > 27, simd::kInfinityOf<X>, 2 * exp_of_square(smaller(x, 27)) - y); };
  return either(given < 0, reflected, [&] { return y; });
}

/// Returns log(ndtr(x)). Below -1 the exponential is factored out.
template <class X>
LM_HD X log_ndtr(X x) {
  const X root = x * 0.70710678118654752440;
  return either(
      x < -1, [&] { return log(erfcx_of_positive(abs(root)) / 2) - root * root; },
      [&] { return log1p(-erfc(root) / 2); });
}

/// Returns the derivative of log_ndtr: the density divided by the distribution function, with the exponentials
/// canceled.
template <class X>
LM_HD X log_ndtr_slope(X x) {
  return 0.79788456080286535588 / erfcx(-0.70710678118654752440 * x);
}

struct Erfcx {
  template <class X>
  LM_HD static X at(X x) {
    return erfcx(x);
  }
};
/// The derivative of Erfcx; far from 0, where its terms cancel, by an asymptotic series (Abramowitz and
/// Stegun, 7.1.23).
struct ErfcxSlope {
  template <class X>
  LM_HD static X at(X x) {
    const auto far = [&] {
      constexpr int kTerms = 36;
      const X u = 1 / x;
      const X v = u * u;
      X sum = 1;
      for (int k = kTerms - 1; k-- > 0;) sum = 1 - (k + 1.5) * v * sum;
      return -0.56418958354775628695 * v * sum;
    };
    return either(x > 6, far, [&] { return 2 * x * erfcx(x) - 1.1283791670955125739; });
  }
};
struct LogNdtr {
  template <class X>
  LM_HD static X at(X x) {
    return log_ndtr(x);
  }
};
struct LogNdtrSlope {
  template <class X>
  LM_HD static X at(X x) {
    return log_ndtr_slope(x);
  }
};

/// The inverse of the normal distribution function; the form is that of M. J. Wichura, "Algorithm AS 241: the
/// percentage points of the normal distribution", Applied Statistics 37, 1988.
struct Ndtri {
  template <class X>
  LM_HD static X at(X p) {
    const X q = p - 0.5;
    const auto central = [&] {
      const X v = 0.180625 - q * q;
      return q * (polynomial(v, -745.87924012886778562, 23780.862270227864236, 227183.66533818278772,
                             457088.70162054469673, 359640.46285228890302, 136311.93513984665533, 27209.247301833527827,
                             2914.9736430919568691, 157.92380629190363867, 3.3871328727963668324) /
                  polynomial(v, 40633.496316116031994, 191723.9840821692497, 276361.75419782005312,
                             175411.24484572721182, 56982.566327762604896, 10114.955232895681486, 987.69467314943980861,
                             49.629884061274876633, 1.0));
    };
    const auto outer = [&] {
      const X tail = where(q < 0, p, 1 - p);
      const X r = sqrt(-log(tail));
      const auto near = [&] {
        return polynomial(r, 0.054350362850595585451, 1.5133041619767230758, 12.302571927534103557,
                          43.456109632558786391, 75.71921394020897522, 29.565059027844478669, -57.880330387639273084,
                          -38.029286545984710985, -3.5717440640448344854) /
               polynomial(r, 2.7706964359226423151e-8, 0.038427833482892350427, 1.0704443396791978795,
                          8.8041603738184790917, 32.810792858315949235, 66.49202694561695328, 59.370327025302509647,
                          17.477320839355530563, 1.0);
      };
      const auto far = [&] {
        return polynomial(r, 8.4545274258751201447e-8, 0.000021536873878378612462, 0.0016654689342640574026,
                          0.052196623078710859986, 0.72792372483779294793, 4.5722069373719246795, 12.213674635329774052,
                          10.891713011951448732, -3.9473872376042052798, -10.205854715345160354,
                          -3.0049016057193173624) /
               polynomial(r, 8.5560593681508298148e-17, 5.9782451882385387553e-8, 0.00001522893844227962834,
                          0.0011778927523533575209, 0.036955270803326709798, 0.51774584534955045245,
                          3.312544843779705639, 9.5485054226675854671, 12.268656363883011604, 6.7997022244737869903,
                          1.0);
      };
      const X y = where(tail == 0, simd::kInfinityOf<X>, where(tail > 0, either(r <= 5, near, far), simd::kNanOf<X>));
      return copysign(y, q);
    };
    return either(abs(q) <= 0.425, central, outer);
  }
};

struct Logit {
  template <class X>
  LM_HD static X at(X p) {
    return log(p / (1 - p));
  }
};
struct LogitSlope {
  template <class X>
  LM_HD static X at(X p) {
    const X q = p * (1 - p);
    return 1 / where(q < 0, simd::kNanOf<X>, q);  // NaN where the function is
  }
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::special
