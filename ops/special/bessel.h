#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/special/number_by_number.h"

// Bessel functions and Airy's.

namespace lamella {

struct I0 : NumberByNumber {
  static constexpr OpInfo info{.name = "i0",
                               .doc = "The modified Bessel function of the first kind, of order 0.",
                               .reference = "sp.i0(x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct I0e : NumberByNumber {
  static constexpr OpInfo info{.name = "i0e",
                               .doc = "exp(-abs(x)) * i0(x), which does not overflow.",
                               .reference = "sp.i0e(x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct I1 : NumberByNumber {
  static constexpr OpInfo info{.name = "i1",
                               .doc = "The modified Bessel function of the first kind, of order 1.",
                               .reference = "sp.i1(x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct I1e : NumberByNumber {
  static constexpr OpInfo info{.name = "i1e",
                               .doc = "exp(-abs(x)) * i1(x), which does not overflow.",
                               .reference = "sp.i1e(x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct ModifiedBesselK0 : NumberByNumber {
  static constexpr OpInfo info{.name = "modified_bessel_k0",
                               .doc = "The modified Bessel function of the second kind, of order 0; NaN below 0.",
                               .reference = "sp.k0(x)",
                               .dtypes = Floating,
                               .sample_low = 0.1};
  static Tensor call(const Tensor& x);
};

struct ModifiedBesselK1 : NumberByNumber {
  static constexpr OpInfo info{.name = "modified_bessel_k1",
                               .doc = "The modified Bessel function of the second kind, of order 1; NaN below 0.",
                               .reference = "sp.k1(x)",
                               .dtypes = Floating,
                               .sample_low = 0.1};
  static Tensor call(const Tensor& x);
};

struct ScaledModifiedBesselK0 : NumberByNumber {
  static constexpr OpInfo info{.name = "scaled_modified_bessel_k0",
                               .doc = "exp(x) * modified_bessel_k0(x), which does not underflow.",
                               .reference = "sp.k0e(x)",
                               .dtypes = Floating,
                               .sample_low = 0.1};
  static Tensor call(const Tensor& x);
};

struct ScaledModifiedBesselK1 : NumberByNumber {
  static constexpr OpInfo info{.name = "scaled_modified_bessel_k1",
                               .doc = "exp(x) * modified_bessel_k1(x), which does not underflow.",
                               .reference = "sp.k1e(x)",
                               .dtypes = Floating,
                               .sample_low = 0.1};
  static Tensor call(const Tensor& x);
};

struct BesselJ0 : NumberByNumber {
  static constexpr OpInfo info{.name = "bessel_j0",
                               .doc = "The Bessel function of the first kind, of order 0.",
                               .reference = "sp.j0(x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct BesselJ1 : NumberByNumber {
  static constexpr OpInfo info{.name = "bessel_j1",
                               .doc = "The Bessel function of the first kind, of order 1.",
                               .reference = "sp.j1(x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct BesselY0 : NumberByNumber {
  static constexpr OpInfo info{.name = "bessel_y0",
                               .doc = "The Bessel function of the second kind, of order 0; NaN below 0.",
                               .reference = "sp.y0(x)",
                               .dtypes = Floating,
                               .sample_low = 0.1};
  static Tensor call(const Tensor& x);
};

struct BesselY1 : NumberByNumber {
  static constexpr OpInfo info{.name = "bessel_y1",
                               .doc = "The Bessel function of the second kind, of order 1; NaN below 0.",
                               .reference = "sp.y1(x)",
                               .dtypes = Floating,
                               .sample_low = 0.1};
  static Tensor call(const Tensor& x);
};

struct SphericalBesselJ0 : NumberByNumber {
  static constexpr OpInfo info{.name = "spherical_bessel_j0",
                               .doc = "sin(x) / x, and 1 at 0: the spherical Bessel function of the first kind.",
                               .reference = "sp.spherical_jn(0, x)",
                               .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

struct AiryAi : NumberByNumber {
  static constexpr OpInfo info{
      .name = "airy_ai", .doc = "Airy's function Ai.", .reference = "sp.airy(x)[0]", .dtypes = Floating};
  static Tensor call(const Tensor& x);
};

}  // namespace lamella
