#include "ops/linalg/lu.h"

#include <array>

#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/solve.h"
#include "ops/movement/cast.h"
#include "ops/movement/pick_along.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

constexpr Triangle kUpper{.upper = true};
constexpr Triangle kLower{.unit_diagonal = true};
constexpr Triangle kUpperAdjoint{.upper = true, .adjoint = true};
constexpr Triangle kLowerAdjoint{.unit_diagonal = true, .adjoint = true};

/// Returns the row positions in the form that pick_along() takes.
Tensor row_places(const Tensor& x, const Tensor& permutation) {
  return broadcast_to(expand_dims(permutation, -1), x.shape());
}
std::int64_t row_axis(const Tensor& x) { return static_cast<std::int64_t>(x.ndim()) - 2; }

/// Returns the rows of x permuted by their exchanges, p^T x, and back, p x.
Tensor exchanged(const Tensor& x, const Tensor& permutation) {
  return pick_along(x, row_places(x, permutation), row_axis(x), "linalg_lu");
}
Tensor put_back(const Tensor& x, const Tensor& permutation) {
  return place_along(x, row_places(x, permutation), row_axis(x), x.size(-2), "linalg_lu");
}

/// With d the gradient of both factors in one matrix, for square matrices: p^T dx = l^-H (tril(l^H dl, -1) + triu(du
/// u^H)) u^-H. For tall matrices the rows below, l2 u, have the gradient dl2 u^-H, and subtract l2^H dl2 from du u^H;
/// for wide ones the columns to the right, l u2, have the gradient l^-H du2, and subtract du2 u2^H from l^H dl.
struct LuLayer : OperatorLayer<LuLayer> {
  static constexpr std::string_view name = "linalg_lu_factor";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x) {
    const auto [lu, pivots] = run_lu(x, "linalg_lu_factor");
    if (ctx.recording()) ctx.save_for_backward(lu, pivots);
    return {lu, pivots};
  }
  static Tensor backward(Context& ctx, const Tensor& d, const Tensor&) {
    const auto [lu, pivots] = ctx.saved_tensors<2>();
    if (!d.defined()) return {};
    const std::int64_t m = lu.size(-2);
    const std::int64_t n = lu.size(-1);
    const std::int64_t k = std::min(m, n);
    const auto block = [](const Tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t size) {
      return x.size(axis) == size ? x : narrow(x, axis, begin, size);
    };
    const Tensor square = block(block(lu, -2, 0, k), -1, 0, k);
    const Tensor dsquare = block(block(d, -2, 0, k), -1, 0, k);
    const Tensor unit = eye(k, std::nullopt, 0, real_dtype(lu.dtype()), lu.device());
    Tensor lower = matmul(adjoint(add(tril(square, -1), unit)), tril(dsquare, -1));
    Tensor upper = matmul(triu(dsquare), adjoint(triu(square)));
    if (n > k) lower = subtract(lower, matmul(block(d, -1, k, n - k), adjoint(block(lu, -1, k, n - k))));
    if (m > k) upper = subtract(upper, matmul(adjoint(block(lu, -2, k, m - k)), block(d, -2, k, m - k)));
    const auto by_upper = [&](const Tensor& x) { return adjoint(solve_triangle(square, adjoint(x), kUpper)); };
    Tensor dx = by_upper(solve_triangle(square, add(tril(lower, -1), triu(upper)), kLowerAdjoint));
    if (n > k) dx = concat({dx, solve_triangle(square, block(d, -1, k, n - k), kLowerAdjoint)}, -1);
    if (m > k) dx = concat({dx, by_upper(block(d, -2, k, m - k))}, -2);
    return put_back(dx, run_permutation(pivots, m, "linalg_lu_factor"));
  }
};

/// Returns p, l and u of the factors of matrices with m rows; empty tensors for those that are not wanted.
std::vector<Tensor> unpacked(const Tensor& lu, const Tensor& pivots, bool with_data, bool with_pivots, const char* op) {
  const std::int64_t m = lu.size(-2);
  const std::int64_t n = lu.size(-1);
  const std::int64_t k = std::min(m, n);
  const Tensor none = empty({0}, lu.dtype(), lu.device());
  std::vector<Tensor> parts{none, none, none};
  if (with_pivots) {
    const Tensor rows = expand_dims(arange(0, m, 1, DType::Int64, lu.device()), -1);
    parts[0] = cast(equal(expand_dims(run_permutation(pivots, m, op), -2), rows), lu.dtype());
  }
  if (with_data) {
    const Tensor unit = eye(m, k, 0, real_dtype(lu.dtype()), lu.device());
    parts[1] = add(tril(n > k ? narrow(lu, -1, 0, k) : lu, -1), unit);
    parts[2] = triu(m > k ? narrow(lu, -2, 0, k) : lu);
  }
  return parts;
}

void check_pivot(bool pivot, const char* op) {
  if (!pivot)
    fail<NotImplementedError>("[", op, "] pivot=False is not supported: factors are computed with row exchanges");
}

}  // namespace

std::vector<Tensor> LinalgLuFactor::call(const Tensor& x, bool pivot) {
  check_matrices(x, info.name);
  check_pivot(pivot, info.name);
  const auto [lu, pivots] = LuLayer::apply(x);
  return {lu, pivots};
}

std::vector<Tensor> LinalgLu::call(const Tensor& x, bool pivot) {
  check_matrices(x, info.name);
  check_pivot(pivot, info.name);
  const auto [lu, pivots] = LuLayer::apply(x);
  return unpacked(lu, pivots, true, true, info.name);
}

std::vector<Tensor> LinalgLuUnpack::call(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  check_matrices(lu, info.name);
  check_defined(pivots, info.name);
  check_dtype(pivots, {DType::Int32}, info.name);
  check_same_device(lu, pivots, info.name);
  Dims expected = lu.shape();
  expected.pop_back();
  expected.back() = std::min(lu.size(-2), lu.size(-1));
  if (pivots.shape() != expected) {
    fail<ValueError>("[linalg_lu_unpack] pivots must have the shape that belongs to lu (", lu.shape(), "), ", expected,
                     ", got shape ", pivots.shape());
  }
  return unpacked(lu, pivots, unpack_data, unpack_pivots, info.name);
}

Tensor LinalgLuSolve::call(const Tensor& given_lu, const Tensor& pivots, const Tensor& given_b, bool left,
                           bool adjoint_of_x) {
  const auto [lu, b] = checked_equation(given_lu, pivots, given_b, "lu", info.name);
  const std::int64_t n = lu.size(-1);
  if (b.size(left ? -2 : -1) != n) {
    fail<ValueError>("[linalg_lu_solve] lu has ", n, " rows and does not fit b (lu: ", lu.shape(), ", b: ", b.shape(),
                     ", left=", left ? "True" : "False", ")");
  }
  // y x == b is equivalent to x^H y^H == b^H.
  if (!left) return adjoint(call(lu, pivots, adjoint(b), true, !adjoint_of_x));
  const Tensor whole = to_batch(b, broadcast_shapes(batch_of(lu), batch_of(b), info.name));
  const Tensor permutation = run_permutation(pivots, n, info.name);
  if (adjoint_of_x) {
    return put_back(solve_triangle(lu, solve_triangle(lu, whole, kUpperAdjoint), kLowerAdjoint), permutation);
  }
  return solve_triangle(lu, solve_triangle(lu, exchanged(whole, permutation), kLower), kUpper);
}

}  // namespace lamella
