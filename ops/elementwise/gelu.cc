#include "ops/elementwise/gelu.h"

#include "engine/core/error.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/special.h"
#include "ops/elementwise/square.h"

namespace lamella {
namespace {

using detail::sigmoid_1;
using detail::sigmoid_2;
using detail::sigmoid_3;

// x Phi(x): with the density phi, phi' = -x phi.

Tensor density(const Tensor& x) { return 0.39894228040143267794 * exp(-0.5 * square(x)); }
constexpr SlopeChain kGelu{"gelu_erf",
                           {[](const Tensor& x) {
                              const Tensor z = limited(x, 40);
                              return 0.5 * erfc(-0.70710678118654752440 * x) + z * density(z);
                            },
                            [](const Tensor& x) {
                              const Tensor z = limited(x, 40);
                              return density(z) * (2 - square(z));
                            },
                            [](const Tensor& x) {
                              const Tensor z = limited(x, 40);
                              return density(z) * z * (square(z) - 4);
                            }}};

/// The argument of sigmoid in gelu's approximation, and its derivatives.
struct GeluArgument {
  static constexpr double kScale = 1.59576912160573071176;
  static constexpr double kCube = 0.044715;
  Tensor x, z, z1, z2;
  static constexpr double z3 = 6 * kScale * kCube;

  explicit GeluArgument(const Tensor& given)
      : x(limited(given, 30)),
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

}  // namespace

Tensor gelu_slope(const Tensor& x) { return slope(kGelu, x); }

Tensor gelu_tanh_slope(const Tensor& x) { return slope(kGeluTanh, x); }

Tensor Gelu::call(const Tensor& x, std::string_view approximate) {
  if (approximate == "none") return GeluErf::call(x);
  if (approximate == "tanh") return GeluTanh::call(x);
  fail<ValueError>("[gelu] approximate must be \"none\" or \"tanh\", got \"", approximate, "\"");
}

}  // namespace lamella
