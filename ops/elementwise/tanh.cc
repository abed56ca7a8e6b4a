#include "ops/elementwise/tanh.h"

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/square.h"

namespace lamella {
namespace detail {

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

}  // namespace detail

namespace {
constexpr SlopeChain kTanh{"tanh", {detail::tanh_1, detail::tanh_2, detail::tanh_3}};
}  // namespace

Tensor tanh_slope(const Tensor& x) {
  return slope_of(kTanh, x, [&] { return 1 - square(tanh(x)); });
}

}  // namespace lamella
