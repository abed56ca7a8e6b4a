#include "ops/elementwise/abs.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/support/checks.h"

namespace lamella {

Tensor Sign::call(const Tensor& x) {
  check_defined(x, info.name);
  if (!is_complex(x.dtype())) return Unary<Sign>::call(x);
  const Tensor magnitude = abs(x);
  return where(magnitude == 0, 0, x / where(magnitude == 0, 1, magnitude));
}

}  // namespace lamella
