#include "ops/elementwise/sinc.h"

#include <cmath>

#include "ops/creation/creation.h"
#include "ops/elementwise/square.h"

namespace lamella {
namespace {

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

Tensor sinc_slope(const Tensor& x) {
  return slope_of(kSinc, x, [&] {
    const Tensor z = M_PI * x;
    const Tensor small = abs(z) < 1.25;
    const Tensor far = where(small, 1, z);
    return M_PI * where(small, sine_ratio_series(where(small, z, 0), 1), (cos(far) - sin(far) / far) / far);
  });
}

}  // namespace lamella
