#include "ops/special/formulas/incomplete_gamma.h"
#include "ops/special/pairs.h"

namespace lamella::special {
namespace {

/// Computes F in double, to the accuracy of T.
template <double (*F)(double, double), class T>
void loop(const T* a, std::int64_t step, const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = static_cast<T>(F(static_cast<double>(a[i * step]), static_cast<double>(x[i])));
}

}  // namespace

const PairLoops kGammaInc = {loop<gammainc<float>, float>, loop<gammainc<double>, double>};
const PairLoops kGammaDensity = {loop<density, float>, loop<density, double>};
const PairLoops kGammaIncC = {loop<gammaincc<float>, float>, loop<gammaincc<double>, double>};

}  // namespace lamella::special
