#include "ops/elementwise/slopes.h"

#include <array>
#include <cmath>

#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/parts.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/slope_layer.h"
#include "ops/elementwise/special.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/tanh.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/support/layer.h"

// Derivatives of operators, as layers with derivatives of their own; see Note [Slopes].

namespace lamella {
namespace {

// tanh: with s = sech^2, s' = -2 t s.

Tensor tanh_1(const Tensor& x) {
  const Tensor e = exp(-2 * abs(x));
  return 4 * e / square(1 + e);
}
Tensor tanh_2(const Tensor& x) { return -2 * tanh(x) * tanh_1(x); }
Tensor tanh_3(const Tensor& x) {
  const Tensor s = tanh_1(x);
  return s * (4 * square(tanh(x)) - 2 * s);
}
constexpr SlopeChain kTanh{"tanh", {tanh_1, tanh_2, tanh_3}};

constexpr SlopeChain kTanhshrink{
    "tanhshrink",
    {[](const Tensor& x) { return square(tanh(x)); }, [](const Tensor& x) { return -tanh_2(x); },
     [](const Tensor& x) { return -tanh_3(x); }}};

// sigmoid: with t = tanh(x / 2), s'' = -t s'.

Tensor sigmoid_1(const Tensor& x) {
  const Tensor e = exp(-abs(x));
  return e / square(1 + e);
}
Tensor sigmoid_2(const Tensor& x) { return -tanh(0.5 * x) * sigmoid_1(x); }
Tensor sigmoid_3(const Tensor& x) {
  const Tensor s = sigmoid_1(x);
  return s * (square(tanh(0.5 * x)) - 2 * s);
}
constexpr SlopeChain kSigmoid{"sigmoid", {sigmoid_1, sigmoid_2, sigmoid_3}};

// x f(x): the k-th derivative is x f^(k) + k f^(k - 1).

Tensor near(const Tensor& x, double bound = detail::kFar) { return clip(x, Scalar(-bound), Scalar(bound)); }

constexpr SlopeChain kSilu{"silu",
                           {[](const Tensor& x) { return sigmoid(x) + near(x) * sigmoid_1(x); },
                            [](const Tensor& x) { return sigmoid_1(x) * (2 - near(x) * tanh(0.5 * x)); },
                            [](const Tensor& given) {
                              const Tensor x = near(given);
                              const Tensor s = sigmoid_1(x);
                              const Tensor t = tanh(0.5 * x);
                              return s * (x * (square(t) - 2 * s) - 3 * t);
                            }}};

/// tanh(log(1 + exp(x))) and its derivatives.
struct MishGate {
  Tensor value;
  std::array<Tensor, 3> slopes;

  explicit MishGate(const Tensor& x) {
    const Tensor e = exp(-abs(x));
    const Tensor one = square(1 + e);
    const Tensor above = x > 0;
    const Tensor sum = where(above, one + square(e), one + 1);
    value = where(above, 1 + 2 * e, e * (e + 2)) / sum;
    const Tensor rest = where(above, square(e), 1) * (4 * one) / square(sum);  // 1 - value^2
    const Tensor s = sigmoid(x);
    const Tensor s1 = sigmoid_1(x);
    slopes[0] = rest * s;
    const Tensor bend = s1 - 2 * value * square(s);
    slopes[1] = rest * bend;
    slopes[2] = rest * (sigmoid_2(x) - 2 * rest * s * square(s) - 4 * value * s * s1 - 2 * value * s * bend);
  }
};
constexpr SlopeChain kMish{"mish",
                           {[](const Tensor& x) {
                              const MishGate gate(x);
                              return gate.value + near(x) * gate.slopes[0];
                            },
                            [](const Tensor& x) {
                              const MishGate gate(x);
                              return 2 * gate.slopes[0] + near(x) * gate.slopes[1];
                            },
                            [](const Tensor& x) {
                              const MishGate gate(x);
                              return 3 * gate.slopes[1] + near(x) * gate.slopes[2];
                            }}};

// x Phi(x): with the density phi, phi' = -x phi.

Tensor density(const Tensor& x) { return 0.39894228040143267794 * exp(-0.5 * square(x)); }
constexpr SlopeChain kGelu{"gelu_erf",
                           {[](const Tensor& x) {
                              const Tensor z = near(x, 40);
                              return 0.5 * erfc(-0.70710678118654752440 * x) + z * density(z);
                            },
                            [](const Tensor& x) {
                              const Tensor z = near(x, 40);
                              return density(z) * (2 - square(z));
                            },
                            [](const Tensor& x) {
                              const Tensor z = near(x, 40);
                              return density(z) * z * (square(z) - 4);
                            }}};

/// The argument of sigmoid in gelu's approximation, and its derivatives.
struct GeluArgument {
  static constexpr double kScale = 1.59576912160573071176;
  static constexpr double kCube = 0.044715;
  Tensor x, z, z1, z2;
  static constexpr double z3 = 6 * kScale * kCube;

  explicit GeluArgument(const Tensor& given)
      : x(near(given, 30)),
        z(kScale * x * (1 + kCube * square(x))),
        z1(kScale * (1 + 3 * kCube * square(x))),
        z2(6 * kScale * kCube * x) {}
};
constexpr SlopeChain kGeluTanh{"gelu_tanh",
                               {[](const Tensor& given) {
                                  const GeluArgument a(given);
                                  return sigmoid(a.z) + a.x * a.z1 * sigmoid_1(a.z);
                                },
                                [](const Tensor& given) {
                                  const GeluArgument a(given);
                                  return sigmoid_1(a.z) * (2 * a.z1 + a.x * (a.z2 - square(a.z1) * tanh(0.5 * a.z)));
                                },
                                [](const Tensor& given) {
                                  const GeluArgument a(given);
                                  const Tensor s1 = sigmoid_1(a.z);
                                  const Tensor s2 = sigmoid_2(a.z);
                                  return 3 * (a.z2 * s1 + square(a.z1) * s2) +
                                         a.x *
                                             (a.z3 * s1 + 3 * a.z1 * a.z2 * s2 + square(a.z1) * a.z1 * sigmoid_3(a.z));
                                }}};

// Rational functions of x^2: beyond 1 in u = 1 / x.

struct Inverse {
  Tensor far;  ///< whether |x| > 1
  Tensor u;    ///< 1 / x where far, x elsewhere
  Tensor w;    ///< u^2

  explicit Inverse(const Tensor& x) : far(abs(x) > 1), u(where(far, 1 / where(far, x, 1), x)), w(square(u)) {}
};
constexpr SlopeChain kAtan{"atan",
                           {[](const Tensor& x) {
                              const Inverse i(x);
                              return where(i.far, i.w, 1) / (1 + i.w);
                            },
                            [](const Tensor& x) {
                              const Inverse i(x);
                              return -2 * i.u * where(i.far, i.w, 1) / square(1 + i.w);
                            },
                            [](const Tensor& x) {
                              const Inverse i(x);
                              const Tensor d = 1 + i.w;
                              return where(i.far, square(i.w) * (6 - 2 * i.w), 6 * i.w - 2) / (square(d) * d);
                            }}};
constexpr SlopeChain kAsinh{"asinh",
                            {[](const Tensor& x) {
                               const Inverse i(x);
                               return where(i.far, abs(i.u), 1) * rsqrt(1 + i.w);
                             },
                             [](const Tensor& x) {
                               const Inverse i(x);
                               const Tensor r = rsqrt(1 + i.w);
                               return -i.u * where(i.far, abs(i.u), 1) * (square(r) * r);
                             },
                             [](const Tensor& x) {
                               const Inverse i(x);
                               const Tensor r = rsqrt(1 + i.w);
                               return where(i.far, i.w * abs(i.u) * (2 - i.w), 2 * i.w - 1) * (square(square(r)) * r);
                             }}};

// Powers of 1 - x^2, whose factors have all digits near 1 and -1.

Tensor gap(const Tensor& x) { return (1 - x) * (1 + x); }
constexpr SlopeChain kAsin{"asin",
                           {[](const Tensor& x) { return rsqrt(gap(x)); },
                            [](const Tensor& x) {
                              const Tensor r = rsqrt(gap(x));
                              return x * r * square(r);
                            },
                            [](const Tensor& x) {
                              const Tensor r = rsqrt(gap(x));
                              return (1 + 2 * square(x)) * r * square(square(r));
                            }}};
constexpr SlopeChain kAcosh{"acosh",
                            {[](const Tensor& x) { return 1 / (sqrt(x - 1) * sqrt(x + 1)); },
                             [](const Tensor& x) {
                               const Tensor far = x > 2;
                               const Tensor u = 1 / where(far, x, 2);
                               const Tensor near = where(far, 2, x);
                               const Tensor r = 1 / (sqrt(near - 1) * sqrt(near + 1));
                               const Tensor s = rsqrt(1 - square(u));
                               return -where(far, square(u) * square(s) * s, near * square(r) * r);
                             },
                             [](const Tensor& x) {
                               const Tensor far = x > 2;
                               const Tensor u = 1 / where(far, x, 2);
                               const Tensor near = where(far, 2, x);
                               const Tensor r = 1 / (sqrt(near - 1) * sqrt(near + 1));
                               const Tensor s = rsqrt(1 - square(u));
                               return where(far, u * square(u) * (2 + square(u)) * square(square(s)) * s,
                                            (1 + 2 * square(near)) * square(square(r)) * r);
                             }}};
constexpr SlopeChain kBell{"erf",
                           {[](const Tensor& x) { return exp(-square(x)); },
                            [](const Tensor& x) {
                              const Tensor z = near(x, 40);
                              return -2 * z * exp(-square(z));
                            },
                            [](const Tensor& x) {
                              const Tensor z = near(x, 40);
                              return (4 * square(z) - 2) * exp(-square(z));
                            }}};
constexpr SlopeChain kAtanh{"atanh",
                            {[](const Tensor& x) { return 1 / gap(x); },
                             [](const Tensor& x) {
                               const Tensor r = 1 / gap(x);
                               return 2 * x * square(r);
                             },
                             [](const Tensor& x) {
                               const Tensor r = 1 / gap(x);
                               return (2 + 6 * square(x)) * r * square(r);
                             }}};

// sin(z) / z = g(z) with z = pi x: g' = (cos(z) - g) / z, g'' = -g - 2 g' / z.

Tensor sine_ratio_slope(const Tensor& z, const Tensor& sine, const Tensor& cosine, int order) {
  const Tensor small = abs(z) < 2;
  const Tensor far = where(small, 1, z);
  const Tensor g = where(small, 0, sine) / far;
  const Tensor g1 = (where(small, 0, cosine) - g) / far;
  if (order == 1) return where(small, sine_ratio_series(where(small, z, 0), 1), g1);
  const Tensor g2 = -g - 2 * g1 / far;
  if (order == 2) return where(small, sine_ratio_series(where(small, z, 0), 2), g2);
  return where(small, sine_ratio_series(where(small, z, 0), 3), 2 * (g1 / far - g2) / far - g1);
}

template <int kOrder>
Tensor sinc_k(const Tensor& x) {
  const Tensor z = M_PI * x;
  return std::pow(M_PI, kOrder) * sine_ratio_slope(z, detail::sin_pi(x), detail::cos_pi(x), kOrder);
}
constexpr SlopeChain kSinc{"sinc", {sinc_k<1>, sinc_k<2>, sinc_k<3>}};

/// Returns the formula for complex numbers, whose derivatives are composed, or the layer for real numbers.
template <class Composed>
Tensor slope_of(const SlopeChain& chain, const Tensor& x, const Composed& composed) {
  return is_complex(x.dtype()) ? composed() : slope(chain, x);
}

/// Returns the derivative along tangents, one of which may be undefined (zero).
Tensor along(const std::array<Tensor, 2>& slopes, const Tensor& da, const Tensor& db) {
  if (!da.defined()) return db * slopes[1];
  const Tensor part = da * slopes[0];
  return db.defined() ? part + db * slopes[1] : part;
}

/// The real or imaginary part of (b + i a)^-n times a factor. All derivatives of atan2(a, b) have this form; the
/// derivatives of this one have n + 1.
struct InversePower : OperatorLayer<InversePower> {
  static constexpr std::string_view name = "atan2";

  struct State {
    int n = 1;
    bool imaginary = false;
  };

  static Tensor forward(Context& ctx, const Tensor& a, const Tensor& b, int n, bool imaginary) {
    save_with<State>(ctx, {n, imaginary}, a, b);
    const DType dtype = a.dtype();
    const Tensor x = in_full_precision(b);
    const Tensor y = in_full_precision(a);
    const Tensor size_of = maximum(abs(x), abs(y));
    const Tensor none = (size_of == 0) | isinf(size_of);
    const Tensor scale = where(none, 1, size_of);
    const Tensor p = where(none, 0, x) / scale;
    const Tensor q = where(none, 0, y) / scale;
    const Tensor squared = where(none, 1, square(p) + square(q));
    const Tensor re = p / squared / scale;
    const Tensor im = -q / squared / scale;
    Tensor to_re = re;
    Tensor to_im = im;
    for (int k = 1; k < n; ++k) {
      const Tensor next = to_re * re - to_im * im;
      to_im = to_re * im + to_im * re;
      to_re = next;
    }
    return cast(imaginary ? to_im : to_re, dtype);
  }
  static std::array<Tensor, 2> slopes(Context& ctx) {
    const auto [a, b] = ctx.saved_tensors<2>();
    const auto [n, imaginary] = ctx.state<State>();
    return {apply(a, b, n + 1, !imaginary) * (imaginary ? -n : n), apply(a, b, n + 1, imaginary) * -n};
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [by_a, by_b] = slopes(ctx);
    return {dy * by_a, dy * by_b};
  }
  static Tensor jvp(Context& ctx, const Tensor& da, const Tensor& db) { return along(slopes(ctx), da, db); }
};

/// a / y with y = hypot(a, b): its derivative by a is (b / y)^2 / y, and by b it is -(a / y) (b / y) / y.
struct Direction : OperatorLayer<Direction> {
  static constexpr std::string_view name = "hypot";

  static Tensor forward(Context& ctx, const Tensor& a, const Tensor& b) {
    if (ctx.recording()) ctx.save_for_backward(a, b);
    const DType dtype = a.dtype();
    const Tensor x = in_full_precision(a);
    const Tensor y = hypot(x, in_full_precision(b));
    const Tensor none = y == 0;
    const Tensor far = sign(x) * where(isinf(b), 0.70710678118654752440, 1.0);
    return cast(where(none, 0, where(isinf(x), far, x / where(none, 1, y))), dtype);
  }
  static std::array<Tensor, 2> slopes(Context& ctx) {
    const auto [a, b] = ctx.saved_tensors<2>();
    const Tensor p = apply(a, b);
    const Tensor q = apply(b, a);
    const Tensor y = hypot(a, b);
    const Tensor none = y == 0;
    const Tensor share = where(none, 0, q / where(none, 1, y));
    return {share * q, -share * p};
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [by_a, by_b] = slopes(ctx);
    return {dy * by_a, dy * by_b};
  }
  static Tensor jvp(Context& ctx, const Tensor& da, const Tensor& db) { return along(slopes(ctx), da, db); }
};

}  // namespace

Tensor sine_ratio_series(const Tensor& z, int order) {
  constexpr int kTerms = 15;
  const Tensor w = square(z);
  Tensor sum;
  // Sums the derivatives of (-1)^k z^(2k) / (2k + 1)!: a polynomial in z^2, times z if the order is odd.
  const int first = (order + 1) / 2;
  for (int k = first + kTerms; k >= first; --k) {
    double c = (k % 2 == 0 ? 1.0 : -1.0) / std::tgamma(2.0 * k + 2);
    for (int i = 0; i < order; ++i) c *= 2 * k - i;
    sum = sum.defined() ? sum * w + c : zeros_like(z) + c;
  }
  return order % 2 == 0 ? sum : sum * z;
}

Tensor sine_ratio_derivative(const Tensor& z, int order) { return sine_ratio_slope(z, sin(z), cos(z), order); }

Tensor tanh_slope(const Tensor& x) {
  return slope_of(kTanh, x, [&] { return 1 - square(tanh(x)); });
}
Tensor sigmoid_slope(const Tensor& x) {
  return slope_of(kSigmoid, x, [&] {
    const Tensor s = sigmoid(x);
    return s * (1 - s);
  });
}
Tensor silu_slope(const Tensor& x) {
  return slope_of(kSilu, x, [&] {
    const Tensor s = sigmoid(x);
    return s * (1 + x * (1 - s));
  });
}
Tensor mish_slope(const Tensor& x) { return slope(kMish, x); }
Tensor gelu_slope(const Tensor& x) { return slope(kGelu, x); }
Tensor gelu_tanh_slope(const Tensor& x) { return slope(kGeluTanh, x); }
Tensor atan_slope(const Tensor& x) {
  return slope_of(kAtan, x, [&] { return 1 / (1 + square(x)); });
}
Tensor asinh_slope(const Tensor& x) {
  return slope_of(kAsinh, x, [&] { return rsqrt(1 + square(x)); });
}
Tensor asin_slope(const Tensor& x) {
  return slope_of(kAsin, x, [&] { return rsqrt(gap(x)); });
}
Tensor acosh_slope(const Tensor& x) {
  return slope_of(kAcosh, x, [&] { return 1 / (sqrt(x - 1) * sqrt(x + 1)); });
}
Tensor bell(const Tensor& x) { return slope(kBell, x); }
Tensor atanh_slope(const Tensor& x) {
  return slope_of(kAtanh, x, [&] { return 1 / gap(x); });
}
Tensor tanhshrink_slope(const Tensor& x) {
  return slope_of(kTanhshrink, x, [&] { return square(tanh(x)); });
}
Tensor sinc_slope(const Tensor& x) {
  return slope_of(kSinc, x, [&] {
    const Tensor z = M_PI * x;
    const Tensor small = abs(z) < 1.25;
    const Tensor far = where(small, 1, z);
    return M_PI * where(small, sine_ratio_series(where(small, z, 0), 1), (cos(far) - sin(far) / far) / far);
  });
}

Tensor atan2_slope(const Tensor& a, const Tensor& b) {
  const Dims shape = broadcast_shapes(a.shape(), b.shape(), "atan2");
  return InversePower::apply(broadcast_to(a, shape), broadcast_to(b, shape), 1, false);
}

Tensor hypot_slope(const Tensor& a, const Tensor& b, const Tensor&) {
  const Dims shape = broadcast_shapes(a.shape(), b.shape(), "hypot");
  return Direction::apply(broadcast_to(a, shape), broadcast_to(b, shape));
}

}  // namespace lamella
