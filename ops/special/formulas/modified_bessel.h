#pragma once

#include "ops/special/formulas/either.h"

// I and ModifiedK of order 0 and 1. Below some bound by power series in x^2 (Abramowitz and Stegun, 9.6.12, 9.6.10;
// ModifiedK with log(x) I separate, 9.6.13, 9.6.11), above it as exp(+-x) / sqrt(x) times a smooth function of 1 / x
// (9.7.1, 9.7.2). The smooth functions are interpolated at Chebyshev points, in 60 digits, to a relative error below
// 4e-17; those of I for float to one below 2e-9.

namespace lamella::special {
inline namespace LM_SIMD_ISA {

/// Returns ModifiedI0 for 0 <= x <= 8; t is x^2.
template <class X>
LM_HD X i0_series(X t) {
  if constexpr (kSingle<X>) {
    return polynomial(t, 2.8886773392558601017e-22, 4.6607544536723802971e-20, 3.1582716592600752112e-17,
                      9.2214376582117489883e-15, 2.4095807854096085938e-12, 4.7076534453422448249e-10,
                      6.7820151766668828406e-8, 6.7816465374407319559e-6, 0.00043402802769973268146,
                      0.015624999140668472776, 0.25000000115556306035, 0.99999999974312993928);
  } else {
    return polynomial(
        t, 8.9452272864817862324e-34, 4.025388035510853138e-31, 3.9693964093519765326e-28, 2.5857922162200121166e-25,
        1.4971317807155651637e-22, 7.2418767227250098064e-20, 2.8969167561484533431e-17, 9.3859635630086239367e-15,
        2.4028076133820387564e-12, 4.70950278858694868e-10, 6.7816840285551901207e-8, 6.7816840277310416664e-6,
        0.00043402777777794755567, 0.015624999999999676306, 0.25000000000000024385, 0.99999999999999996952);
  }
}
/// Returns ModifiedI1(x) / x for 0 <= x <= 8; t is x^2.
template <class X>
LM_HD X i1_series(X t) {
  if constexpr (kSingle<X>) {
    return polynomial(t, 6.3589023969028931734e-21, 9.338660340700416213e-19, 5.6781163910530786746e-16,
                      1.4763215293692060698e-13, 3.3728024205487220061e-11, 5.6494275222928787521e-9,
                      6.7819573005903855523e-7, 0.000054253252337340644365, 0.0026041675721136764393,
                      0.062499998548411979785, 0.5000000003840415537);
  } else {
    return polynomial(
        t, 2.7165055895169189122e-35, 1.380818158491429687e-32, 1.4089262515892317856e-29, 9.9569692305007391446e-27,
        6.2370206832638681894e-24, 3.2918259018287704736e-21, 1.4484555372543950567e-18, 5.214425120919992752e-16,
        1.5017547367976847115e-13, 3.3639305668982474279e-11, 5.6514033567047460338e-9, 6.7816840277643570321e-7,
        0.000054253472222227097204, 0.0026041666666666573726, 0.062500000000000007001, 0.49999999999999999912);
  }
}
/// Returns ModifiedI0 for x <= 1, with fewer terms; t is x^2.
template <class X>
LM_HD X i0_short(X t) {
  return polynomial(t, 2.4406278948541676383e-12, 4.7088867397997054743e-10, 6.7816892466325077037e-8,
                    6.7816840032982538954e-6, 0.0004340277777840114156, 0.01562499999999922061, 0.25000000000000003712,
                    0.99999999999999999971);
}
template <class X>
LM_HD X i1_short(X t) {
  return polynomial(t, 3.4168816194609335591e-11, 5.6506735279543997302e-9, 6.7816890096055561694e-7,
                    0.000054253472047747469641, 0.0026041666666957562875, 0.062499999999998181569,
                    0.50000000000000001856);
}

/// Returns sqrt(x) exp(-x) I(x) for x > 8.
template <class X>
LM_HD X i0_tail(X x) {
  const X u = 1 / x;
  if constexpr (kSingle<X>) {
    return polynomial(u, 1.8169554235364323026, -0.30054585731951868029, 0.084241396281715868435,
                      0.027320679097569403032, 0.028092363222685805618, 0.049867450158112275883,
                      0.39894228083080337925);
  } else {
    const auto far = [&] {
      return polynomial(u - 0.03125, 55690.310555083237559, 5056.8351607265810622, 355.37806511100152115,
                        52.112483913528197486, 9.3130943042234953273, 1.9167642373806393176, 0.4837910490686735292,
                        0.15333666312071037563, 0.063190514214046348573, 0.035864386262273443845,
                        0.031083533790786519879, 0.051712492812246400112, 0.40052897918718268653);
    };
    const auto near = [&] {
      return polynomial(u - 0.09375, 306469539.57544124261, -11632521.678091320228, -3855483.1145728360508,
                        197137.39033237662548, 41051.945698370844305, -1527.8209535989421166, -510.2407163540638879,
                        -19.106836508296251149, 3.7681847375217986914, 0.88714736409743336558, 0.18367424850236360036,
                        0.062238968110039594538, 0.039845385066165873527, 0.056095719280591544688,
                        0.40389233614682269277);
    };
    return either(x > 16, far, near);
  }
}
template <class X>
LM_HD X i1_tail(X x) {
  const X u = 1 / x;
  if constexpr (kSingle<X>) {
    return polynomial(u, -2.0489172466276269023, 0.32631105326500713737, -0.10163402100335689462,
                      -0.03878715280296955413, -0.046797646759691364611, -0.14960298121838468976,
                      0.39894227992200576998);
  } else {
    const auto far = [&] {
      return polynomial(u - 0.03125, -58989.604048196253417, -5390.4499002921169088, -385.66649300521708564,
                        -57.220825631564961031, -10.357114193822937555, -2.1713917657011153449, -0.56162957823035839003,
                        -0.18416826255138194101, -0.0798685349906554545, -0.049376239712565116373,
                        -0.050961398810859769215, -0.15265274530923334791, 0.39422021340612099595);
    };
    const auto near = [&] {
      return polynomial(u - 0.09375, -315226443.19566198576, 13488997.843918343203, 3941746.0383530160048,
                        -225176.75899739771234, -42250.538968189871175, 1839.7920322735748561, 543.11457827560973181,
                        18.253191801482938425, -4.3514276051537142219, -1.0113858571410763146, -0.21951352744914326449,
                        -0.081758663513380291795, -0.062749032221364221852, -0.15969829015857506124,
                        0.38446685410720080435);
    };
    return either(x > 16, far, near);
  }
}

/// Returns exp(x) * y where exp(x) alone might overflow.
template <class X>
LM_HD X times_exp(X x, X y) {
  const X half = exp(x / 2);
  return half * y * half;
}

struct ModifiedI0 {
  template <class X>
  LM_HD static X at(X given) {
    const X x = abs(given);
    return either(x <= 8, [&] { return i0_series(x * x); }, [&] { return times_exp(x, i0_tail(x) / sqrt(x)); });
  }
};
struct ScaledModifiedI0 {
  template <class X>
  LM_HD static X at(X given) {
    const X x = abs(given);
    return either(x <= 8, [&] { return exp(-x) * i0_series(x * x); }, [&] { return i0_tail(x) / sqrt(x); });
  }
};
struct ModifiedI1 {
  template <class X>
  LM_HD static X at(X given) {
    const X x = abs(given);
    const X y =
        either(x <= 8, [&] { return x * i1_series(x * x); }, [&] { return times_exp(x, i1_tail(x) / sqrt(x)); });
    return copysign(y, given);
  }
};
struct ScaledModifiedI1 {
  template <class X>
  LM_HD static X at(X given) {
    const X x = abs(given);
    const X y = either(x <= 8, [&] { return x * exp(-x) * i1_series(x * x); }, [&] { return i1_tail(x) / sqrt(x); });
    return copysign(y, given);
  }
};

struct ModifiedOrder0 {
  /// Returns ModifiedK(x) for 0 < x <= 1.
  template <class X>
  LM_HD static X near(X x) {
    const X t = x * x;
    return polynomial(t, 6.6159035516443137692e-12, 1.2082515207624246326e-9, 1.6271070900264265103e-7,
                      0.000014914719229859212885, 0.00084603509072589608399, 0.02524892993216048483,
                      0.27898287891460321744, 0.11593151565841244799) -
           log(x) * i0_short(t);
  }
  /// Returns sqrt(x) exp(x) ModifiedK(x) for x > 1.
  template <class X>
  LM_HD static X tail(X x) {
    const X u = 1 / x;
    return polynomial(u, 0.017287636930648037592, 2.1555177862513555767, 43.030535840646347317, 298.17231643111653868,
                      934.29390404212296405, 1502.2578262861274198, 1320.3622333192607823, 648.30347232214552963,
                      174.51338643323480611, 23.707593761091317484, 1.2533141373155002272) /
           polynomial(u, 0.050255381797084158168, 3.2090040961494892732, 49.395050912213719153, 297.66206988794070451,
                      857.83252515801825149, 1308.5040652627761552, 1111.5387183353878681, 533.69967601306144742,
                      141.55133956797531066, 19.040923035761079277, 1.0);
  }
};
struct ModifiedOrder1 {
  template <class X>
  LM_HD static X near(X x) {
    const X t = x * x;
    return polynomial(t, -9.0398069675621669727e-11, -1.4027427462902934082e-8, -1.5592910886385745551e-6,
                      -0.00011253606927869868376, -0.0046421827667485351005, -0.085370719728616146515,
                      -0.30796575782920787376, 1.0000000000000000129) /
               x +
           log(x) * x * i1_short(t);
  }
  template <class X>
  LM_HD static X tail(X x) {
    const X u = 1 / x;
    return polynomial(u, 0.1227425980377434176, 5.962082121081808721, 76.651667641987709251, 409.70914569737557859,
                      1095.6449446925278827, 1603.9577382142569193, 1339.3086952874999734, 642.27569234694842278,
                      171.84297569521898608, 23.452595476510425766, 1.2533141373155002857) /
           polynomial(u, 0.0068691765877150783942, 1.0569534037009250687, 23.255519422801614528, 173.4509493396354406,
                      578.55973262518316706, 983.0104696475411959, 907.54327386572746999, 465.62643027841562265,
                      130.35149574908456921, 18.337463841462812746, 1.0);
  }
};

/// Returns y, a value of ModifiedK, or the values at 0 (infinity) and below (NaN).
template <class X>
LM_HD X with_pole(X x, X y) {
  return where(x > 0, y, where(x == 0, simd::kInfinityOf<X>, simd::kNanOf<X>));
}

template <class Order>
struct ModifiedK {
  template <class X>
  LM_HD static X at(X x) {
    const X y = either(x > 1, [&] { return exp(-x) * (Order::tail(x) / sqrt(x)); }, [&] { return Order::near(x); });
    return with_pole(x, y);
  }
};
template <class Order>
struct ScaledModifiedK {
  template <class X>
  LM_HD static X at(X x) {
    const X y = either(x > 1, [&] { return Order::tail(x) / sqrt(x); }, [&] { return exp(x) * Order::near(x); });
    return with_pole(x, y);
  }
};

/// The x beyond which derivatives of scaled functions, differences that cancel there, are asymptotic series.
inline constexpr double kFar = 25;
/// Returns the derivative of such a series for x > kFar, but for a factor: of exp(-x) I(x) (sign -1) or exp(x) K(x)
/// (sign 1) of order nu (9.7.1, 9.7.2).
template <class X>
LM_HD X far_slope(X x, int nu, double sign) {
  constexpr int kTerms = 20;
  const X u = 1 / x;
  X sum = 1;
  for (int k = kTerms - 1; k-- > 0;) {
    const double odd = 2 * k + 1;
    sum = 1 + sign * (4 * nu * nu - odd * odd) * (odd + 2) / (8 * (k + 1) * odd) * u * sum;
  }
  return -0.5 * sum * u / sqrt(x);
}

/// Derivatives of ScaledModifiedI0 and ScaledModifiedI1.
struct ScaledModifiedI0Slope {
  template <class X>
  LM_HD static X at(X x) {
    const X size = abs(x);
    const X s = where(x > 0, X(1), where(x < 0, X(-1), X(0)));
    const auto far = [&] { return s * (0.39894228040143267794 * far_slope(size, 0, -1)); };
    return either(size > kFar, far, [&] { return ScaledModifiedI1::at(x) - s * ScaledModifiedI0::at(x); });
  }
};
struct ScaledModifiedI1Slope {
  template <class X>
  LM_HD static X at(X x) {
    const X size = abs(x);
    const auto far = [&] { return 0.39894228040143267794 * far_slope(size, 1, -1); };
    const auto near = [&] {
      const X f1 = ScaledModifiedI1::at(size);
      const auto series = [&] { return exp(-size) * i0_bend(x * x); };
      return either(size <= 2, series, [&] { return ScaledModifiedI0::at(size) - f1 / size; }) - f1;
    };
    return either(size > kFar, far, near);
  }

 private:
  /// Returns the second derivative of ModifiedI0 for x <= 2; t is x^2.
  template <class X>
  LM_HD static X i0_bend(X t) {
    constexpr int kTerms = 15;
    X sum = 1;
    for (int k = kTerms - 1; k-- > 0;) {
      const double even = 2 * (k + 1);
      sum = 1 + (even + 1) / ((even + 2) * even * (even - 1)) * t * sum;
    }
    return 0.5 * sum;
  }
};

/// Derivatives of ScaledModifiedK of order 0 and 1; near 0 those of K dominate.
struct ScaledModifiedK0Slope {
  template <class X>
  LM_HD static X at(X x) {
    const auto near = [&] {
      const X k1 = ScaledModifiedK<ModifiedOrder1>::at(x);
      return where(k1 == simd::kInfinityOf<X>, -k1, ScaledModifiedK<ModifiedOrder0>::at(x) - k1);
    };
    return either(x > kFar, [&] { return 1.2533141373155002512 * far_slope(x, 0, 1); }, near);
  }
};
struct ScaledModifiedK1Slope {
  template <class X>
  LM_HD static X at(X x) {
    const auto near = [&] {
      const X k1 = ScaledModifiedK<ModifiedOrder1>::at(x);
      const X slope = ScaledModifiedK<ModifiedOrder0>::at(x) + k1 / x;
      return where(slope == simd::kInfinityOf<X>, -slope, k1 - slope);
    };
    return either(x > kFar, [&] { return 1.2533141373155002512 * far_slope(x, 1, 1); }, near);
  }
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::special
