#include "ops/elementwise/gates.h"

#include <array>

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/tanh.h"
#include "ops/elementwise/where.h"

namespace lamella {
namespace {

using detail::sigmoid_1;
using detail::sigmoid_2;

// x f(x): the k-th derivative is x f^(k) + k f^(k - 1).

constexpr SlopeChain kSilu{"silu",
                           {[](const Tensor& x) { return sigmoid(x) + limited(x) * sigmoid_1(x); },
                            [](const Tensor& x) { return sigmoid_1(x) * (2 - limited(x) * tanh(0.5 * x)); },
                            [](const Tensor& given) {
                              const Tensor x = limited(given);
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
                              return gate.value + limited(x) * gate.slopes[0];
                            },
                            [](const Tensor& x) {
                              const MishGate gate(x);
                              return 2 * gate.slopes[0] + limited(x) * gate.slopes[1];
                            },
                            [](const Tensor& x) {
                              const MishGate gate(x);
                              return 3 * gate.slopes[1] + limited(x) * gate.slopes[2];
                            }}};

}  // namespace

Tensor silu_slope(const Tensor& x) {
  return slope_of(kSilu, x, [&] {
    const Tensor s = sigmoid(x);
    return s * (1 + x * (1 - s));
  });
}

Tensor mish_slope(const Tensor& x) { return slope(kMish, x); }

}  // namespace lamella
