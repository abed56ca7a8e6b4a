#include "ops/elementwise/shrink.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/tanh.h"

namespace lamella {
namespace {

constexpr SlopeChain kTanhshrink{
    "tanhshrink",
    {[](const Tensor& x) { return square(tanh(x)); }, [](const Tensor& x) { return -detail::tanh_2(x); },
     [](const Tensor& x) { return -detail::tanh_3(x); }}};

}  // namespace

Tensor tanhshrink_slope(const Tensor& x) {
  return slope_of(kTanhshrink, x, [&] { return square(tanh(x)); });
}

}  // namespace lamella
