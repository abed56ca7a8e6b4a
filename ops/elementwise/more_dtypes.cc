#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/exponents.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/softplus.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/promotion.h"

// Elementwise operators for the dtypes that have no kernels.

namespace lamella {
namespace {

/// Computes log(exp(a) + exp(b)) with the operand of larger real part factored out, so that the remaining exponential
/// is at most 1 in magnitude.
Tensor complex_logaddexp(const Tensor& a, const Tensor& b) {
  const Tensor a_is_larger = greater_equal(real(a), real(b));
  const Tensor high = where(a_is_larger, a, b);
  const Tensor low = where(a_is_larger, b, a);
  const Tensor finite = isfinite(real(high));
  return add(high, where(finite, log1p(exp(where(finite, subtract(low, high), 0))), 0));
}

}  // namespace

Tensor Sign::call(const Tensor& x) {
  check_defined(x, info.name);
  if (x.dtype() == DType::Bool) return clone(x);
  if (!is_complex(x.dtype())) return Unary<Sign>::call(x);
  const Tensor magnitude = abs(x);
  return where(magnitude == 0, 0, x / where(magnitude == 0, 1, magnitude));
}

Tensor Square::call(const Tensor& x) {
  check_defined(x, info.name);
  return Unary<Square>::call(x.dtype() == DType::Bool ? cast(x, DType::Int64) : x);
}

Tensor Softsign::call(const Tensor& x) {
  check_defined(x, info.name);
  return is_complex(x.dtype()) ? divide(x, add(abs(x), 1)) : Unary<Softsign>::call(x);
}

Tensor LogAddExp::call(const Operand& a, const Operand& b) {
  const Operand* const operands[] = {&a, &b};
  for (const Operand* x : operands) {
    if (!x->is_number()) check_defined(x->tensor(), info.name);
  }
  const DType dtype = promoted_dtype(operands);
  if (!is_complex(dtype)) return Binary<LogAddExp>::call(a, b);
  return complex_logaddexp(in_dtype(a, dtype), in_dtype(b, dtype));
}

}  // namespace lamella
