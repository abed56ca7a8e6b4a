#include "ops/linalg/batches.h"

#include <algorithm>

#include "ops/linalg/matrices.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/support/checks.h"

namespace lamella::linalg {

std::int64_t matrix_offset(const Tensor& x, std::int64_t i) {
  std::int64_t offset = 0;
  for (std::size_t axis = x.ndim() - 2; axis-- > 0;) {
    offset += i % x.shape()[axis] * x.strides()[axis];
    i /= x.shape()[axis];
  }
  return offset;
}

Tensor to_batch(const Tensor& x, const Dims& batch) {
  Dims shape = batch;
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-1));
  return x.shape() == shape ? x : broadcast_to(x, shape);
}

std::pair<Tensor, Tensor> with_equal_batches(const Tensor& a, const Tensor& b, const char* op) {
  const Dims batch = broadcast_shapes(batch_of(a), batch_of(b), op);
  return {to_batch(a, batch), to_batch(b, batch)};
}

FactoredEquation checked_equation(const Tensor& factors, const Tensor& pivots, const Tensor& b, const char* name,
                                  const char* op) {
  check_square(factors, op);
  check_matrices(b, op);
  check_defined(pivots, op);
  check_dtype(pivots, {DType::Int32}, op);
  check_same_device(factors, b, op);
  check_same_device(factors, pivots, op);
  if (pivots.ndim() + 1 != factors.ndim() ||
      !std::ranges::equal(pivots.shape(), DimsView(factors.shape()).first(factors.ndim() - 1))) {
    fail<ValueError>("[", op, "] pivots must have the shape of ", name, " without its last axis (", name, ": ",
                     factors.shape(), "), got shape ", pivots.shape());
  }
  const DType dtype = promote_types(factors.dtype(), b.dtype());
  return {cast(factors, dtype), cast(b, dtype)};
}

}  // namespace lamella::linalg
