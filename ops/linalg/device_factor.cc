#include "ops/linalg/device_factor.h"

#include <limits>

#include "engine/core/error.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/device_checks.h"
#include "ops/linalg/diagonal.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/pick_along.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"
#include "ops/support/device_kernels.h"
#include "ops/support/strided.h"

namespace lamella::linalg::there {
namespace {

/// Returns the row positions in the form that pick_along() takes.
Tensor row_places(const Tensor& x, const Tensor& rows) { return broadcast_to(expand_dims(rows, -1), x.shape()); }
std::int64_t row_axis(const Tensor& x) { return static_cast<std::int64_t>(x.ndim()) - 2; }

/// Overwrites b with the solutions of triangular systems.
void substitute(const Tensor& x, const Tensor& b, Triangle triangle, const char* op) {
  device_kernel<&DeviceKernels::solve_triangle>(b.device(), op)(contiguous(x), b, triangle, op);
}

/// Returns -1 where an odd number of rows was exchanged, and 1 elsewhere, in a dtype.
Tensor sign_of(const Tensor& pivots, DType dtype) {
  const Tensor places = arange(1, pivots.size(-1) + 1, 1, DType::Int32, pivots.device());
  const Tensor exchanges = sum(cast(not_equal(pivots, places), DType::Int32), -1);
  return cast(subtract(1, multiply(2, remainder(exchanges, 2))), dtype);
}

[[noreturn]] void refuse_singular(const Found& found, const char* op) {
  fail<ValueError>("[", op, "] ", found.matrix, " is singular");
}

}  // namespace

bool has_kernels(const Tensor& x) { return has_device_kernel<&DeviceKernels::cholesky>(x.device()); }

std::pair<Tensor, Tensor> cholesky(const Tensor& x, bool allowed, const char* op) {
  const Tensor y = rows_of(x);
  const Tensor info = beside(x, {}, DType::Int32);
  if (y.numel() == 0) {
    write_value(info, 0, op);
    return {y, info};
  }
  device_kernel<&DeviceKernels::cholesky>(x.device(), op)(y, info, op);
  if (allowed) return {y, info};
  const Found found = first_found(info);
  if (found.number != 0) {
    fail<ValueError>("[", op, "] ", found.matrix, " is not positive definite: its leading ", found.number, " x ",
                     found.number, " part is not");
  }
  return {y, Tensor()};
}

Tensor cholesky_inverse(const Tensor& factor, bool upper, const char* op) {
  const Found found = first_found(zeros_on_diagonal(factor));
  if (found.number != 0) refuse_singular(found, op);
  const Tensor unit = eye(factor.size(-1), std::nullopt, 0, factor.dtype(), factor.device());
  const Tensor inverse =
      triangular(factor, to_batch(unit, {batch_of(factor).begin(), batch_of(factor).end()}), {.upper = upper}, op);
  return upper ? matmul(inverse, adjoint(inverse)) : matmul(adjoint(inverse), inverse);
}

Factors factor(const Tensor& x, Singular singular, const char* op) {
  Factors factors{rows_of(x), beside(x, {std::min(x.size(-2), x.size(-1))}, DType::Int32)};
  if (x.numel() == 0) return factors;
  device_kernel<&DeviceKernels::lu>(x.device(), op)(factors.lu, factors.pivots, op);
  if (singular == Singular::Allowed) return factors;
  const Found found = first_found(zeros_on_diagonal(factors.lu));
  if (found.number != 0) refuse_singular(found, op);
  return factors;
}

Tensor permutation(const Tensor& pivots, std::int64_t rows, const char* op) {
  Dims shape = pivots.shape();
  shape.back() = rows;
  const Tensor result = empty(shape, DType::Int64, pivots.device());
  if (result.numel() == 0) return result;
  device_kernel<&DeviceKernels::permutation>(pivots.device(), op)(contiguous(pivots), result, op);
  return result;
}

Tensor solve(const Factors& factors, const Tensor& b, bool adjoint, const char* op) {
  if (b.numel() == 0) return clone(b);
  const Tensor places = row_places(b, permutation(factors.pivots, b.size(-2), op));
  const Triangle lower{.unit_diagonal = true, .adjoint = adjoint};
  const Triangle upper{.upper = true, .adjoint = adjoint};
  if (adjoint) {
    const Tensor y = clone(b);
    substitute(factors.lu, y, upper, op);
    substitute(factors.lu, y, lower, op);
    return place_along(y, places, row_axis(y), y.size(-2), op);
  }
  const Tensor y = contiguous(pick_along(b, places, row_axis(b), op));
  substitute(factors.lu, y, lower, op);
  substitute(factors.lu, y, upper, op);
  return y;
}

std::pair<Tensor, Tensor> inverse(const Tensor& x, Singular singular, const char* op) {
  const Factors factors = factor(x, singular, op);
  const bool allowed = singular == Singular::Allowed;
  const Tensor unit = eye(x.size(-1), std::nullopt, 0, x.dtype(), x.device());
  const Tensor y = solve(factors, to_batch(unit, {batch_of(x).begin(), batch_of(x).end()}), false, op);
  if (!allowed) return {y, Tensor()};
  if (x.numel() == 0) {
    const Tensor info = beside(x, {}, DType::Int32);
    write_value(info, 0, op);
    return {y, info};
  }
  const Tensor info = zeros_on_diagonal(factors.lu);
  const Tensor is_singular = expand_dims(expand_dims(not_equal(info, 0), -1), -1);
  return {where(is_singular, std::numeric_limits<double>::quiet_NaN(), y), info};
}

Tensor triangular(const Tensor& x, const Tensor& b, Triangle triangle, const char* op) {
  const Tensor y = rows_of(b);
  if (y.numel() > 0) substitute(x, y, triangle, op);
  return y;
}

std::pair<Tensor, Tensor> slogdet(const Factors& factors) {
  const DType dtype = factors.lu.dtype();
  const Tensor pivots = diagonal(factors.lu);
  const Tensor sizes = abs(pivots);
  const Tensor units = divide(pivots, where(equal(sizes, 0), 1, sizes));
  const Tensor logarithm = sum(log(cast(sizes, DType::Float64)), -1);
  return {multiply(prod(units, -1), sign_of(factors.pivots, dtype)), cast(logarithm, real_dtype(dtype))};
}

Tensor det(const Factors& factors) {
  return multiply(prod(diagonal(factors.lu), -1), sign_of(factors.pivots, factors.lu.dtype()));
}

}  // namespace lamella::linalg::there
