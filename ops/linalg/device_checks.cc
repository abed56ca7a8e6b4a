#include "ops/linalg/device_checks.h"

#include "engine/core/error.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/diagonal.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"

namespace lamella::linalg::there {

Found first_found(const Tensor& info) {
  const Tensor host = to_device(contiguous(info), kCPU);
  const auto* const numbers = host.data<std::int32_t>();
  for (std::int64_t i = 0; i < host.numel(); ++i) {
    if (numbers[i] != 0) return {numbers[i], host.numel() == 1 ? "the matrix" : str("matrix ", i, " of the batch")};
  }
  return {};
}

Tensor zeros_on_diagonal(const Tensor& x) {
  const Tensor zero = equal(diagonal(x), 0);
  const Tensor first = cast(add(argmax(cast(zero, DType::Int32), -1), 1), DType::Int32);
  return where(any(zero, Dims{-1}), first, 0);
}

Tensor not_finite(const Tensor& x) { return cast(logical_not(all(isfinite(x), Dims{-2, -1})), DType::Int32); }

}  // namespace lamella::linalg::there
