#include "ops/linalg/factor.h"

#include <numeric>

#include "engine/core/error.h"
#include "ops/linalg/device_factor.h"
#include "ops/linalg/elimination.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/triangles.h"
#include "ops/movement/cast.h"
#include "ops/shape/permute.h"
#include "ops/support/checks.h"
#include "ops/support/strided.h"

namespace lamella::linalg {
void write_unit(const Tensor& x) {
  write_value(x, 0, "eye");
  Dims shape(x.shape().begin(), x.shape().end() - 1);
  Dims strides(x.strides().begin(), x.strides().end() - 1);
  strides.back() += 1;
  write_value(make_view(x, shape, strides), 1, "eye");
}

std::pair<Tensor, Tensor> run_cholesky(const Tensor& x, bool allowed, const char* op) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_cholesky(host, allowed, op); }, x);
  if (there::has_kernels(x)) return there::cholesky(x, allowed, op);
  const Tensor y = rows_of(x);
  const Tensor info = allowed ? beside(x, {}, DType::Int32) : Tensor();
  if (is_computed(y, op)) {
    if (allowed) write_value(info, 0, op);
    if (y.numel() > 0) lapack::cholesky(y, info, op);
  }
  return {y, info};
}

Factors run_factor(const Tensor& x, Singular singular, const char* op) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_factor(host, singular, op); }, x);
  if (there::has_kernels(x)) return there::factor(x, singular, op);
  Factors factors{rows_of(x), beside(x, {x.size(-1)}, DType::Int32)};
  if (!is_computed(x, op) || x.numel() == 0) return factors;
  if (has_elimination(x)) {
    eliminate(factors.lu, factors.pivots);
    if (singular == Singular::Refused) check_pivots(factors.lu, op);
  } else {
    lapack::factor(factors.lu, factors.pivots, singular, op);
  }
  return factors;
}

Tensor run_solve(const Factors& factors, const Tensor& b, bool adjoint, const char* op) {
  if (!is_plain(factors.lu) || !is_plain(b)) [[unlikely]] {
    const auto run = [&](const Tensor& lu, const Tensor& pivots, const Tensor& right) {
      return run_solve({contiguous(lu), contiguous(pivots)}, contiguous(right), adjoint, op);
    };
    return with_plain(op, run, factors.lu, factors.pivots, b);
  }
  if (there::has_kernels(b)) return there::solve(factors, b, adjoint, op);
  if (is_computed(b, op) && b.numel() > 0 && has_elimination(b)) return solve_eliminated(factors, b, adjoint);
  const Tensor columns = columns_of(b);
  if (is_computed(b, op) && b.numel() > 0) lapack::solve(factors, columns, adjoint, op);
  return from_columns(columns);
}

std::pair<Tensor, Tensor> run_lu(const Tensor& x, const char* op) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_lu(host, op); }, x);
  if (there::has_kernels(x)) {
    const Factors factors = there::factor(x, Singular::Allowed, op);
    return {factors.lu, factors.pivots};
  }
  const Tensor pivots = beside(x, {std::min(x.size(-2), x.size(-1))}, DType::Int32);
  if (x.numel() > 0 && has_elimination(x)) {
    const Tensor rows = rows_of(x);
    eliminate(rows, pivots);
    return {rows, pivots};
  }
  const Tensor columns = columns_of(x);
  if (is_computed(x, op) && x.numel() > 0) lapack::lu(columns, pivots, op);
  return {from_columns(columns), pivots};
}

Tensor run_permutation(const Tensor& given, std::int64_t rows, const char* op) {
  if (!is_plain(given)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_permutation(host, rows, op); }, given);
  if (there::has_kernels(given)) return there::permutation(given, rows, op);
  const Tensor pivots = contiguous(given);
  Dims shape = pivots.shape();
  const std::int64_t count = shape.back();
  shape.back() = rows;
  const Tensor permutation = empty(shape, DType::Int64, pivots.device());
  if (!is_computed(pivots, op) || permutation.numel() == 0) return permutation;
  for (std::int64_t i = 0; i < permutation.numel() / rows; ++i) {
    auto* const to = permutation.data<std::int64_t>() + i * rows;
    std::iota(to, to + rows, 0);
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t other = pivots.data<std::int32_t>()[i * count + j] - std::int64_t{1};
      if (other < 0 || other >= rows) {
        fail<ValueError>("[", op, "] pivots: row ", j, " cannot be exchanged with row ", other, " of ", rows);
      }
      std::swap(to[j], to[other]);
    }
  }
  return permutation;
}

std::pair<Tensor, Tensor> run_inverse(const Tensor& x, Singular singular, const char* op) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_inverse(host, singular, op); }, x);
  if (there::has_kernels(x)) return there::inverse(x, singular, op);
  const bool allowed = singular == Singular::Allowed;
  const Tensor rows = rows_of(x);
  const Tensor info = allowed ? beside(x, {}, DType::Int32) : Tensor();
  if (is_computed(x, op)) {
    if (allowed) write_value(info, 0, op);
    if (x.numel() > 0 && has_elimination(x)) return {invert_rows(rows, info, op), info};
    if (x.numel() > 0) lapack::inverse(rows, info, op);
  }
  return {rows, info};
}

Tensor run_triangular(const Tensor& x, const Tensor& b, Triangle triangle, const char* op) {
  if (!is_plain(x) || !is_plain(b)) [[unlikely]] {
    const auto run = [&](const Tensor& one, const Tensor& other) { return run_triangular(one, other, triangle, op); };
    return with_plain(op, run, x, b);
  }
  if (there::has_kernels(b)) return there::triangular(x, b, triangle, op);
  Tensor y = rows_of(b);
  if (!is_computed(y, op) || y.numel() == 0) return y;
  has_triangle_kernel(y) ? solve_triangles(x, y, triangle) : lapack::triangular(contiguous(x), y, triangle, op);
  return y;
}

std::pair<Tensor, Tensor> run_qr(const Tensor& x, bool complete, const char* op) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_qr(host, complete, op); }, x);
  if (there::has_kernels(x)) return there::qr(x, complete, op);
  const std::int64_t m = x.size(-2);
  const std::int64_t n = x.size(-1);
  const std::int64_t k = complete ? m : std::min(m, n);
  const Tensor q_columns = beside(x, {k, m}, x.dtype());
  const Tensor r = beside(x, {k, n}, x.dtype());
  if (is_computed(x, op) && (q_columns.numel() > 0 || r.numel() > 0)) {
    x.numel() > 0 ? lapack::qr(columns_of(x), q_columns, r, op) : write_unit(q_columns);
  }
  return {from_columns(q_columns), r};
}

std::pair<Tensor, Tensor> run_eigh(const Tensor& x, bool vectors, const char* op) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_eigh(host, vectors, op); }, x);
  if (there::has_kernels(x)) return there::eigh(x, vectors, op);
  const Tensor values = beside(x, {x.size(-1)}, real_dtype(x.dtype()));
  const Tensor columns = columns_of(x);
  if (is_computed(x, op) && x.numel() > 0) lapack::eigh(columns, values, vectors, op);
  return {values, vectors ? from_columns(columns) : Tensor()};
}

std::pair<Tensor, Tensor> run_eig(const Tensor& x, bool vectors, const char* op) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_eig(host, vectors, op); }, x);
  const DType dtype = complex_dtype(x.dtype());
  const Tensor values = beside(x, {x.size(-1)}, dtype);
  const Tensor columns = vectors ? empty(x.shape(), dtype, x.device()) : Tensor();
  if (is_computed(x, op) && x.numel() > 0) lapack::eig(columns_of(x), values, columns, op);
  return {values, vectors ? from_columns(columns) : Tensor()};
}

Singulars run_svd(const Tensor& x, SingularVectors vectors, const char* op) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, [&](const Tensor& host) { return run_svd(host, vectors, op); }, x);
  if (there::has_kernels(x)) return there::svd(x, vectors, op);
  const std::int64_t m = x.size(-2);
  const std::int64_t n = x.size(-1);
  const std::int64_t k = std::min(m, n);
  const bool full = vectors == SingularVectors::Full;
  Singulars to;
  to.s = beside(x, {k}, real_dtype(x.dtype()));
  if (vectors != SingularVectors::None) {
    to.u = beside(x, {m, full ? m : k}, x.dtype());
    to.vh = beside(x, {full ? n : k, n}, x.dtype());
  }
  if (!is_computed(x, op)) return to;
  if (x.numel() > 0) {
    lapack::svd(rows_of(x), to, vectors, op);
  } else if (full) {
    write_unit(to.u);
    write_unit(to.vh);
  }
  return to;
}

LeastSquares run_least_squares(const Tensor& x, const Tensor& b, const Tensor& rcond, LeastSquaresDriver driver,
                               const char* op) {
  if (!is_plain(x) || !is_plain(b) || !is_plain(rcond)) [[unlikely]] {
    const auto run = [&](const Tensor& matrices, const Tensor& right, const Tensor& bounds) {
      return run_least_squares(matrices, right, bounds, driver, op);
    };
    return with_plain(op, run, x, b, rcond);
  }
  if (there::has_kernels(x)) return there::least_squares(x, b, rcond, driver, op);
  const std::int64_t m = x.size(-2);
  const std::int64_t n = x.size(-1);
  const std::int64_t length = std::max(m, n);
  const Tensor columns = beside(b, {b.size(-1), length}, x.dtype());
  const auto rows = [&](std::int64_t count) {
    Dims shape = columns.shape();
    shape.back() = count;
    return make_view(columns, shape, columns.strides());
  };
  const bool has_rank = driver != LeastSquaresDriver::Gels;
  const bool has_values = driver == LeastSquaresDriver::Gelsd || driver == LeastSquaresDriver::Gelss;
  LeastSquares to;
  // An axis of size 0 keeps the leading axes, which vmap may hide.
  to.rank = has_rank ? beside(x, {}, DType::Int64) : beside(x, {0}, DType::Int64);
  to.singular_values = beside(x, {has_values ? std::min(m, n) : 0}, real_dtype(x.dtype()));
  if (is_computed(x, op)) {
    if (x.numel() == 0) {
      write_value(columns, 0, op);
      if (has_rank) write_value(to.rank, 0, op);
    } else {
      write_values(rows(m), matrix_transpose(b), op);
      lapack::least_squares(columns_of(x), columns, contiguous(rcond), driver, to, op);
    }
  }
  to.solution = from_columns(rows(n));
  return to;
}

}  // namespace lamella::linalg
