#include <limits>

#include "engine/core/error.h"
#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/device_checks.h"
#include "ops/linalg/device_factor.h"
#include "ops/linalg/diagonal.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/pick_along.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/part.h"
#include "ops/shape/reshape.h"
#include "ops/sort/sort.h"
#include "ops/support/device_kernels.h"
#include "ops/support/strided.h"

namespace lamella::linalg::there {
namespace {

/// Returns unit matrices beside x.
Tensor units(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  const Tensor unit = eye(rows, columns, 0, x.dtype(), x.device());
  return clone(to_batch(unit, {batch_of(x).begin(), batch_of(x).end()}));
}
/// Returns numbers as matrices of one element.
Tensor as_matrices(const Tensor& x) { return expand_dims(expand_dims(x, -1), -1); }

/// Returns each matrix's largest magnitude, or 1 where that is 0: divided by it, squares do not overflow.
Tensor largest(const Tensor& x) {
  const Tensor sizes = max(abs(x), Dims{-2, -1});
  return where(equal(sizes, 0), 1, sizes);
}

/// Returns the lengths of the rows.
Tensor lengths(const Tensor& x) { return sqrt(square_sum(abs(x), Dims{-1})); }

/// Returns the rows of x, or the numbers, in an order.
Tensor ordered_rows(const Tensor& x, const Tensor& order, const char* op) {
  return pick_along(x, broadcast_to(expand_dims(order, -1), x.shape()), static_cast<std::int64_t>(x.ndim()) - 2, op);
}
Tensor ordered(const Tensor& x, const Tensor& order, const char* op) {
  return pick_along(x, order, static_cast<std::int64_t>(x.ndim()) - 1, op);
}

void orthogonalize(const Tensor& rows, const Tensor& vectors, const Tensor& info, const char* op) {
  device_kernel<&DeviceKernels::orthogonalize>(rows.device(), op)(rows, vectors, info, op);
}

/// Throws ValueError for the first matrix of x that is not finite, or whose iteration did not end.
void check_iteration(const Tensor& x, const Tensor& info, const char* values, const char* op) {
  constexpr std::int32_t kNotFinite = 2;
  const Found found = first_found(maximum(multiply(not_finite(x), kNotFinite), info));
  if (found.number == kNotFinite) {
    fail<ValueError>("[", op, "] ", found.matrix, " has elements that are not finite (NaN or infinity)");
  }
  if (found.number != 0) fail<ValueError>("[", op, "] the ", values, " of ", found.matrix, " did not converge");
}

/// Returns orthonormal columns whose first are those of x divided by their lengths; x has orthogonal columns, in
/// descending order of their lengths, of which some may be 0.
Tensor completed(const Tensor& x, std::int64_t count, const char* op) {
  const auto [a, tau] = reflections(x, op);
  const Tensor q = reflect(a, tau, units(x, x.size(-2), count), false, op);
  const Tensor pivots = diagonal(a);
  const Tensor sizes = abs(pivots);
  const Tensor phases = where(equal(sizes, 0), 1, divide(pivots, where(equal(sizes, 0), 1, sizes)));
  const std::int64_t more = count - phases.size(-1);
  Tensor factors = cast(phases, x.dtype());
  if (more > 0) {
    Dims shape = factors.shape();
    shape.back() = more;
    factors = concat({factors, ones(shape, x.dtype(), x.device())}, -1);
  }
  return multiply(q, expand_dims(factors, -2));
}

/// Computes the values of least squares by singular values: those up to a bound count as 0.
LeastSquares by_singular_values(const Tensor& x, const Tensor& b, const Tensor& rcond, bool with_values,
                                const char* op) {
  const Singulars parts = svd(x, SingularVectors::Reduced, op);
  const Tensor bound = where(less(rcond, 0), std::numeric_limits<double>::epsilon(), rcond);
  const Tensor limit = multiply(cast(bound, parts.s.dtype()), max(parts.s, -1));
  const Tensor counts = greater(parts.s, expand_dims(limit, -1));
  const Tensor inverse = where(counts, divide(1, where(counts, parts.s, 1)), 0);
  LeastSquares to;
  to.solution = matmul(adjoint(parts.vh), multiply(expand_dims(inverse, -1), matmul(adjoint(parts.u), b)));
  to.rank = sum(cast(counts, DType::Int64), -1);
  to.singular_values = with_values ? parts.s : beside(x, {0}, parts.s.dtype());
  return to;
}

/// Computes the solution for matrices of full rank by QR.
Tensor by_reflections(const Tensor& x, const Tensor& b, const char* op) {
  const std::int64_t m = x.size(-2);
  const std::int64_t n = x.size(-1);
  const std::int64_t k = std::min(m, n);
  const auto [a, tau] = reflections(m >= n ? x : adjoint(x), op);
  const Tensor r = contiguous(narrow(a, -2, 0, k));
  constexpr std::int32_t kNotFinite = 2;
  const Tensor lacks_rank = cast(not_equal(zeros_on_diagonal(r), 0), DType::Int32);
  const Found found = first_found(maximum(multiply(not_finite(x), kNotFinite), lacks_rank));
  if (found.number == kNotFinite) {
    fail<ValueError>("[", op, "] ", found.matrix, " has elements that are not finite (NaN or infinity)");
  }
  if (found.number != 0) {
    fail<ValueError>("[", op, "] ", found.matrix,
                     " does not have full rank, which driver='gels' requires: use driver='gelsy'");
  }
  if (m >= n) {
    const Tensor turned = reflect(a, tau, b, true, op);
    return triangular(r, narrow(turned, -2, 0, k), {.upper = true}, op);
  }
  const Tensor inner = triangular(r, b, {.upper = true, .adjoint = true}, op);
  Dims shape = inner.shape();
  shape[inner.ndim() - 2] = n - m;
  return reflect(a, tau, concat({inner, zeros(shape, x.dtype(), x.device())}, -2), false, op);
}

}  // namespace

std::pair<Tensor, Tensor> reflections(const Tensor& x, const char* op) {
  const Tensor a = rows_of(x);
  const Tensor tau = beside(x, {std::min(x.size(-1), x.size(-2))}, x.dtype());
  if (x.numel() > 0) device_kernel<&DeviceKernels::reflections>(x.device(), op)(a, tau, op);
  return {a, tau};
}

Tensor reflect(const Tensor& x, const Tensor& tau, const Tensor& c, bool adjoint, const char* op) {
  const Tensor y = rows_of(c);
  if (y.numel() == 0 || tau.numel() == 0) return y;
  device_kernel<&DeviceKernels::reflect>(c.device(), op)(contiguous(x), contiguous(tau), y, adjoint, op);
  return y;
}

std::pair<Tensor, Tensor> qr(const Tensor& x, bool complete, const char* op) {
  const std::int64_t m = x.size(-2);
  const std::int64_t k = complete ? m : std::min(m, x.size(-1));
  const auto [a, tau] = reflections(x, op);
  return {reflect(a, tau, units(x, m, k), false, op), contiguous(triu(k < m ? narrow(a, -2, 0, k) : a))};
}

/// The rows of h + 2 s are made orthogonal, where s, the largest sum of magnitudes in a row, bounds the eigenvalues'
/// magnitudes: they are positive and not small then, so that the rows become the conjugates of the eigenvectors,
/// multiplied by them.
std::pair<Tensor, Tensor> eigh(const Tensor& x, bool vectors, const char* op) {
  const Tensor info = beside(x, {}, DType::Int32);
  const Tensor low = tril(x, -1);
  if (x.numel() == 0) return {beside(x, {x.size(-1)}, real_dtype(x.dtype())), vectors ? clone(x) : Tensor()};
  const Tensor unit = eye(x.size(-1), std::nullopt, 0, real_dtype(x.dtype()), x.device());
  const Tensor middle = is_complex(x.dtype()) ? real(diagonal(x)) : diagonal(x);
  const Tensor whole = add(add(low, adjoint(low)), multiply(unit, expand_dims(middle, -1)));
  const Tensor unscaled = largest(whole);
  const Tensor h = divide(whole, as_matrices(unscaled));
  const Tensor sums = max(sum(abs(h), Dims{-1}), Dims{-1});
  const Tensor bound = where(equal(sums, 0), 1, sums);
  const Tensor rows = contiguous(add(h, multiply(unit, as_matrices(multiply(bound, 2)))));
  orthogonalize(rows, Tensor(), info, op);
  check_iteration(tril(x), info, "eigenvalues", op);
  const Tensor conjugates = divide(rows, expand_dims(lengths(rows), -1));
  // Rayleigh quotients: an error of the vectors counts only by its square.
  const Tensor products = multiply(matmul(conjugates, h), conjugate(conjugates));
  const Tensor values = sum(is_complex(x.dtype()) ? real(products) : products, Dims{-1});
  const Tensor order = argsort(values, -1);
  const Tensor sorted = multiply(ordered(values, order, op), expand_dims(unscaled, -1));
  return {sorted, vectors ? contiguous(adjoint(ordered_rows(conjugates, order, op))) : Tensor()};
}

/// The rows of a wide x are made orthogonal by a unitary w: w x = s vh, and x = w^H s vh.
Singulars svd(const Tensor& x, SingularVectors vectors, const char* op) {
  const std::int64_t m = x.size(-2);
  const std::int64_t n = x.size(-1);
  const bool full = vectors == SingularVectors::Full;
  if (m > n) {
    Singulars turned = svd(adjoint(x), vectors, op);
    if (vectors == SingularVectors::None) return turned;
    return {contiguous(adjoint(turned.vh)), turned.s, contiguous(adjoint(turned.u))};
  }
  if (x.numel() == 0) {
    Singulars none{.u = Tensor(), .s = beside(x, {m}, real_dtype(x.dtype())), .vh = Tensor()};
    if (vectors == SingularVectors::None) return none;
    none.u = units(x, m, m);
    none.vh = units(x, full ? n : m, n);
    return none;
  }
  const Tensor info = beside(x, {}, DType::Int32);
  const Tensor unscaled = largest(x);
  const Tensor rows = contiguous(divide(x, as_matrices(unscaled)));
  const Tensor w = vectors == SingularVectors::None ? Tensor() : units(x, m, m);
  orthogonalize(rows, w, info, op);
  check_iteration(x, info, "singular values", op);
  const Tensor sizes = lengths(rows);
  const Tensor order = argsort(sizes, -1, true);
  Singulars to;
  to.s = multiply(ordered(sizes, order, op), expand_dims(unscaled, -1));
  if (vectors == SingularVectors::None) return to;
  to.u = contiguous(adjoint(ordered_rows(w, order, op)));
  to.vh = contiguous(adjoint(completed(adjoint(ordered_rows(rows, order, op)), full ? n : m, op)));
  return to;
}

LeastSquares least_squares(const Tensor& x, const Tensor& b, const Tensor& rcond, LeastSquaresDriver driver,
                           const char* op) {
  const DType real = real_dtype(x.dtype());
  const bool has_values = driver == LeastSquaresDriver::Gelsd || driver == LeastSquaresDriver::Gelss;
  if (x.numel() > 0 && driver != LeastSquaresDriver::Gels) return by_singular_values(x, b, rcond, has_values, op);
  LeastSquares to;
  to.rank = beside(x, {0}, DType::Int64);
  to.singular_values = beside(x, {0}, real);
  if (x.numel() > 0) {
    to.solution = by_reflections(x, b, op);
    return to;
  }
  if (driver != LeastSquaresDriver::Gels) {
    to.rank = beside(x, {}, DType::Int64);
    write_value(to.rank, 0, op);
  }
  if (has_values) to.singular_values = beside(x, {std::min(x.size(-2), x.size(-1))}, real);
  to.solution = beside(b, {x.size(-1), b.size(-1)}, x.dtype());
  write_value(to.solution, 0, op);
  return to;
}

}  // namespace lamella::linalg::there
