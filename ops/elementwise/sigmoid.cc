#include "ops/elementwise/sigmoid.h"

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/tanh.h"

namespace lamella {
namespace detail {

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

}  // namespace detail

namespace {
constexpr SlopeChain kSigmoid{"sigmoid", {detail::sigmoid_1, detail::sigmoid_2, detail::sigmoid_3}};
}  // namespace

Tensor sigmoid_slope(const Tensor& x) {
  return slope_of(kSigmoid, x, [&] {
    const Tensor s = sigmoid(x);
    return s * (1 - s);
  });
}

}  // namespace lamella
