#pragma once

#include "ops/special/formulas/either.h"

// J and BesselY of order 0 and 1. Up to 5, J is a smooth function of x^2 times factors for its first two zeros, so that
// it stays accurate near them, and BesselY is 2 / pi log(x) J plus a power series (Abramowitz and
// Stegun, 9.1.13, 9.1.11). Beyond, both are waves whose two amplitudes P and Q / x are smooth functions of 1 / x^2
// (9.2.5, 9.2.6). The smooth functions are rational, interpolated at Chebyshev points, in 60 digits, to a relative
// error below 4e-17.

namespace lamella::special {
inline namespace LM_SIMD_ISA {

constexpr double kBesselNear = 5;
constexpr double kPi = 3.14159265358979323846;

/// Returns x^2 - z^2 for a zero z given as the sum of `high` and `low`.
template <class X>
LM_HD X beside_zero(X x, double high, double low) {
  return ((x - high) - low) * (x + high);
}

/// sqrt(2) times the cosine and the sine of x minus the phase, pi / 4 or 3 pi / 4. Subtracting the phase from x would
/// lose digits of large x.
template <class X>
struct BesselWave {
  X p;
  X q;
  X cosine;
  X sine;

  LM_HD X j(X x) const { return (p * cosine - q * sine) / sqrt(kPi * x); }
  LM_HD X y(X x) const { return (p * sine + q * cosine) / sqrt(kPi * x); }
};

struct BesselOrder0 {
  /// J for 0 <= x <= 5.
  template <class X>
  LM_HD static X j_near(X x) {
    const X t = x * x;
    return beside_zero(x, 2.404825557695773, -1.1766916515308941e-16) *
           beside_zero(x, 5.520078110286311, 8.0885971461467223e-17) *
           (polynomial(t, -4.8230883849825105527e-14, 4.0471029799928432338e-11, -1.3805763587060334794e-8,
                       2.3247855826186744299e-6, -0.00018792917453252690632, 0.0056746933251556165009) /
            polynomial(t, 4.7766929964260705147e-13, 4.2496489715096627728e-10, 2.0051619095661044505e-7,
                       0.000060153231545817452925, 0.011150061508420384926, 1.0));
  }
  template <class X>
  LM_HD static X y_near(X x) {
    const X t = x * x;
    const X series = polynomial(t, 6.217661864330071645e-14, -5.8489152135652369628e-11, 2.1683260036698149015e-8,
                                -3.9185899875584284634e-6, 0.00034950341058953841688, -0.013831807246489821952,
                                0.17667180046229192824, -0.073804295108687225275) /
                     polynomial(t, 4.0055283962180191195e-18, 4.1650012220202239244e-15, 2.5022809089887200761e-12,
                                1.0741776054512518355e-9, 3.4499058951807690794e-7, 0.000081026814659380403665,
                                0.012658022211301504304, 1.0);
    return 2 / kPi * log(x) * j_near(x) + series;
  }
  template <class X>
  LM_HD static BesselWave<X> wave(X x) {
    const X s = 1 / (x * x);
    const X p =
        polynomial(s, -22216.192322886732859, 1297554.0631234963017, 2312106.0139066021979, 911948.45624202052481,
                   123822.67797625065255, 6689.6808161372408656, 143.97695965856760407, 0.99999999999999998335) /
        polynomial(s, 1403998.8491949674852, 2365926.9068865877983, 920011.77315644083541, 124278.16771788032469,
                   6699.6969878615829516, 144.04727215856743718, 1.0);
    const X q = polynomial(s, 594175.8125242812966, -6880405.4376436161602, -14432242.188104302958,
                           -6262811.4980113628137, -979035.44108864344528, -65968.347775839647389,
                           -2023.493003896802714, -27.082927062233883496, -0.12499999999999999531) /
                polynomial(s, 91704423.203299914785, 137439591.1362596851, 54072336.892391455077, 8120056.2187374229673,
                           536924.53702575757734, 16313.421710520053425, 217.24935399787057568, 1.0);
    const X sine = sin(x);
    const X cosine = cos(x);
    return {p, q / x, cosine + sine, sine - cosine};
  }
};
struct BesselOrder1 {
  template <class X>
  LM_HD static X j_near(X x) {
    const X t = x * x;
    return x * beside_zero(x, 3.8317059702075125, -1.5269184090088067e-16) *
           beside_zero(x, 7.015586669815619, -9.4141656534103891e-17) *
           (polynomial(t, -2.4131034291237634055e-15, 2.3224542359477089488e-12, -9.2424053192410689569e-10,
                       1.8522806086675606042e-7, -0.000018253714157160932683, 0.00069192283664082531862) /
            polynomial(t, 2.7685529185922665035e-13, 2.8147630676013798148e-10, 1.4943366935728219686e-7,
                       0.000049869214775826578691, 0.0101905292746245724, 1.0));
  }
  template <class X>
  LM_HD static X y_near(X x) {
    const X t = x * x;
    const X series = polynomial(t, 3.7295234081350766616e-15, -3.8926346494370901694e-12, 1.6687671207429732545e-9,
                                -3.6582065689292228072e-7, 0.000042107741712489752731, -0.0023640328421347436651,
                                0.052172696548984077065, -0.1960570906462389484) /
                     polynomial(t, 7.6747340965919437507e-16, 8.5662654795295238462e-13, 5.2230952854193267315e-10,
                                2.1439758218625617269e-7, 0.00006085387632769333291, 0.011098765182905206713, 1.0);
    return 2 / kPi * (log(x) * j_near(x) - 1 / x) + x * series;
  }
  template <class X>
  LM_HD static BesselWave<X> wave(X x) {
    const X s = 1 / (x * x);
    const X p =
        polynomial(s, 40565.577831620263948, 1288929.5692282222282, 2153066.4911206203091, 857625.01448084558822,
                   118542.35393500784729, 6513.0875638722894542, 142.22240221722494773, 1.0000000000000000185) /
        polynomial(s, 1119471.8833615307927, 2067529.4889820661574, 844667.74157898655963, 117800.85045455498963,
                   6496.5788045789205831, 142.10521471722513277, 1.0);
    const X q =
        polynomial(s, -916593.5429970770234, 22301201.273063263398, 41826524.669331125609, 17952366.320980080103,
                   2823986.5828804933149, 192222.55448329935742, 5958.4181711201627515, 80.534533240701087814,
                   0.37499999999999999486) /
        polynomial(s, 75802873.252205625246, 121326653.05807484911, 49656063.071176483482, 7661209.7447246223849,
                   516800.1821059462372, 15947.1727843511921, 215.03219280853605437, 1.0);
    const X sine = sin(x);
    const X cosine = cos(x);
    return {p, q / x, sine - cosine, -(sine + cosine)};
  }
};

template <class Order, class X>
LM_HD X bessel_j_of_positive(X x) {
  return either(x <= kBesselNear, [&] { return Order::j_near(x); }, [&] { return Order::wave(x).j(x); });
}

struct BesselJ0 {
  template <class X>
  LM_HD static X at(X x) {
    return bessel_j_of_positive<BesselOrder0>(abs(x));
  }
};
struct BesselJ1 {
  template <class X>
  LM_HD static X at(X x) {
    return copysign(X(1), x) * bessel_j_of_positive<BesselOrder1>(abs(x));
  }
};

template <class Order>
struct BesselY {
  template <class X>
  LM_HD static X at(X x) {
    const X y = either(x <= kBesselNear, [&] { return Order::y_near(x); }, [&] { return Order::wave(x).y(x); });
    return where(x > 0, y, where(x == 0, -simd::kInfinityOf<X>, simd::kNanOf<X>));
  }
};

/// sin(x) / x (Abramowitz and Stegun, 10.1.11).
struct SphericalJ0 {
  template <class X>
  LM_HD static X at(X x) {
    return where(isinf(x), 0, where(x == 0, 1, sin(x) / x));
  }
};
/// The negative derivative of sin(x) / x: sin(x) / x^2 - cos(x) / x, which would cancel below 1.
struct SphericalJ1 {
  template <class X>
  LM_HD static X at(X x) {
    const X t = x * x;
    const X y = either(
        abs(x) <= 1,
        [&] {
          return x * polynomial(t, 1.054968329028265806e-11, -1.9268707751406797187e-9, 2.5052093777430814467e-7,
                                -0.000022045855328091563519, 0.0011904761904676772085, -0.033333333333332801346,
                                0.33333333333333332791);
        },
        [&] { return (sin(x) / x - cos(x)) / x; });
    return where(isinf(x), 0, y);
  }
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::special
