#include "ops/elementwise/inverse_slopes.h"

#include <array>

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/parts.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/slopes.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

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
/// The parts of derivatives of acosh: powers of x^2 - 1 near 1, and of u = 1 / x beyond 2.
struct Beyond {
  Tensor far;   ///< whether x > 2
  Tensor u;     ///< 1 / x where far
  Tensor s;     ///< 1 / sqrt(1 - u^2)
  Tensor near;  ///< x where not far
  Tensor r;     ///< 1 / sqrt(near^2 - 1)

  explicit Beyond(const Tensor& x)
      : far(x > 2),
        u(1 / where(far, x, 2)),
        s(rsqrt(1 - square(u))),
        near(where(far, 2, x)),
        r(1 / (sqrt(near - 1) * sqrt(near + 1))) {}
};
constexpr SlopeChain kAcosh{"acosh",
                            {[](const Tensor& x) { return 1 / (sqrt(x - 1) * sqrt(x + 1)); },
                             [](const Tensor& x) {
                               const auto [far, u, s, near, r] = Beyond(x);
                               return -where(far, square(u) * square(s) * s, near * square(r) * r);
                             },
                             [](const Tensor& x) {
                               const auto [far, u, s, near, r] = Beyond(x);
                               return where(far, u * square(u) * (2 + square(u)) * square(square(s)) * s,
                                            (1 + 2 * square(near)) * square(square(r)) * r);
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

}  // namespace

Tensor asin_slope(const Tensor& x) {
  return slope_of(kAsin, x, [&] { return rsqrt(gap(x)); });
}

Tensor atan_slope(const Tensor& x) {
  return slope_of(kAtan, x, [&] { return 1 / (1 + square(x)); });
}

Tensor atan2_slope(const Tensor& a, const Tensor& b) {
  const Dims shape = broadcast_shapes(a.shape(), b.shape(), "atan2");
  return InversePower::apply(broadcast_to(a, shape), broadcast_to(b, shape), 1, false);
}

Tensor asinh_slope(const Tensor& x) {
  return slope_of(kAsinh, x, [&] { return rsqrt(1 + square(x)); });
}

Tensor acosh_slope(const Tensor& x) {
  return slope_of(kAcosh, x, [&] { return 1 / (sqrt(x - 1) * sqrt(x + 1)); });
}

Tensor atanh_slope(const Tensor& x) {
  return slope_of(kAtanh, x, [&] { return 1 / gap(x); });
}

}  // namespace lamella
