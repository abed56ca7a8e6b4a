#include "ops/elementwise/erf.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/square.h"

namespace lamella {
namespace {

constexpr SlopeChain kBell{"erf",
                           {[](const Tensor& x) { return exp(-square(x)); },
                            [](const Tensor& x) {
                              const Tensor z = limited(x, 40);
                              return -2 * z * exp(-square(z));
                            },
                            [](const Tensor& x) {
                              const Tensor z = limited(x, 40);
                              return (4 * square(z) - 2) * exp(-square(z));
                            }}};

}  // namespace

Tensor bell(const Tensor& x) { return slope(kBell, x); }

}  // namespace lamella
