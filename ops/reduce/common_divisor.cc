#include "ops/reduce/common_divisor.h"

#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponents.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/where.h"
#include "ops/reduce/extremum.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"

namespace lamella {

Tensor largest_or_one(const Tensor& x, const Dims& axes) {
  const autograd::NoGrad no_grad;
  const Tensor largest = max(abs(x.detach()), axes, true);
  return where(logical_and(isfinite(largest), not_equal(largest, 0)), largest, 1);
}

Tensor divisor_into_range(const Tensor& x, const Dims& axes, double least) {
  if (x.numel() == 0 || x.device().is_meta()) return {};
  const autograd::NoGrad no_grad;
  const Tensor divisor = largest_or_one(x, axes);
  // Squares of numbers in between, raised to -5/2 as third derivatives of a root are, are a tenth of the range away.
  const double most = real_dtype(x.dtype()) == DType::Float64 ? 0x1p160 : 0x1p20;
  const Tensor large = greater(divisor, most);
  const Tensor beyond = least > 1 / most ? large : logical_or(large, less(divisor, 1 / most));
  if (x.device().is_cpu()) {
    const Tensor all = is_batched(beyond) ? physical(beyond, *beyond->hidden) : beyond;
    if (!*any(all).data<bool>()) return {};
  }
  return where(beyond, divisor, 1);
}

Tensor power_of_two_near(const Tensor& x) {
  const autograd::NoGrad no_grad;
  if (x.numel() == 0) return ones({}, real_dtype(x.dtype()), x.device());
  const Tensor largest = max(abs(x), Dims{-2, -1}, true);
  return exp2(floor(log2(where(greater(largest, 0), largest, 1))));
}

}  // namespace lamella
