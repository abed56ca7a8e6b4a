#include "ops/linalg/solve.h"

#include <array>

#include "engine/autograd/graph/running_pass.h"
#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/diagonal.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

/// y = x^-1 b or x^-H b. db is the solution of the adjoint equation for dy, dx = -db y^H or -y db^H.
struct SolveLayer : OperatorLayer<SolveLayer> {
  static constexpr std::string_view name = "linalg_solve";

  struct State {
    Factors factors;
    bool adjoint = false;
  };

  /// Solves with the factors `known` of x, or factors x if that is null.
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& b, bool adjoint, const Factors* known) {
    const Factors factors = known ? *known : run_factor(x, Singular::Refused, "linalg_solve");
    Tensor y = run_solve(factors, b, adjoint, "linalg_solve");
    if (ctx.recording()) {
      ctx.save_for_backward(x, y);
      ctx.state<State>() = {factors, adjoint};
    }
    return y;
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    const State& state = ctx.state<State>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 2> grads;
    grads[1] = apply(x, dy, !state.adjoint, &state.factors);
    if (autograd::is_needed(edges[0])) {
      grads[0] = negative(state.adjoint ? matmul(y, adjoint(grads[1])) : matmul(grads[1], adjoint(y)));
    }
    return grads;
  }
};

/// Returns the number, from 1 on, of the first zero pivot, or 0 if there is none (int32).
Tensor first_zero_pivot(const Factors& factors) {
  Dims leading(factors.lu.shape().begin(), factors.lu.shape().end() - 2);
  if (factors.lu.size(-1) == 0) return zeros(leading, DType::Int32, factors.lu.device());
  const Tensor is_zero = equal(diagonal(factors.lu), 0);
  return cast(where(any(is_zero, Dims{-1}), add(argmax(is_zero, -1), 1), 0), DType::Int32);
}

/// solve() for matrices that may be singular, with the number of the zero pivot.
struct SolveExLayer : OperatorLayer<SolveExLayer> {
  static constexpr std::string_view name = "linalg_solve_ex";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x, const Tensor& b) {
    const Factors factors = run_factor(x, Singular::Allowed, "linalg_solve_ex");
    const Tensor y = run_solve(factors, b, false, "linalg_solve_ex");
    const Tensor failed = first_zero_pivot(factors);
    ctx.mark_non_differentiable(failed);
    if (ctx.recording()) {
      ctx.save_for_backward(x, y);
      ctx.state<SolveLayer::State>() = {factors, false};
    }
    return {y, failed};
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy, const Tensor&) {
    return dy.defined() ? SolveLayer::backward(ctx, dy) : std::array<Tensor, 2>();
  }
};

/// solve() with triangular x.
struct TriangularLayer : OperatorLayer<TriangularLayer> {
  static constexpr std::string_view name = "linalg_solve_triangular";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& b, Triangle triangle) {
    Tensor y = run_triangular(x, b, triangle, "linalg_solve_triangular");
    if (ctx.recording()) {
      ctx.save_for_backward(x, y);
      ctx.state<Triangle>() = triangle;
    }
    return y;
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    Triangle other = ctx.state<Triangle>();
    other.adjoint = !other.adjoint;
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 2> grads;
    grads[1] = apply(x, dy, other);
    if (autograd::is_needed(edges[0])) {
      const Tensor whole = negative(other.adjoint ? matmul(grads[1], adjoint(y)) : matmul(y, adjoint(grads[1])));
      const std::int64_t skipped = other.unit_diagonal ? 1 : 0;
      grads[0] = other.upper ? triu(whole, skipped) : tril(whole, -skipped);
    }
    return grads;
  }
};

/// dx = -y^H dy y^H.
struct InverseLayer : OperatorLayer<InverseLayer> {
  static constexpr std::string_view name = "linalg_inv";

  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = run_inverse(x, Singular::Refused, "linalg_inv").first;
    if (ctx.recording()) ctx.save_for_backward(y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    const Tensor transposed = adjoint(y);
    return negative(matmul(matmul(transposed, dy), transposed));
  }
};

/// The inverse of matrices that may be singular, with the number of the zero pivot.
struct InverseExLayer : OperatorLayer<InverseExLayer> {
  static constexpr std::string_view name = "linalg_inv_ex";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x) {
    const auto [y, failed] = run_inverse(x, Singular::Allowed, "linalg_inv_ex");
    ctx.mark_non_differentiable(failed);
    if (ctx.recording()) ctx.save_for_backward(y);
    return {y, failed};
  }
  static Tensor backward(Context& ctx, const Tensor& dy, const Tensor&) {
    return dy.defined() ? InverseLayer::backward(ctx, dy) : Tensor();
  }
};

/// Returns the info of a call without errors.
Tensor no_errors(const Tensor& x) {
  return zeros(Dims(x.shape().begin(), x.shape().end() - 2), DType::Int32, x.device());
}

/// Reduces the `info` of broadcast matrices to the given ones.
Tensor of_given(const Tensor& info, const Tensor& x) {
  const Dims leading(x.shape().begin(), x.shape().end() - 2);
  if (info.shape() == leading) return info;
  // Broadcast to no matrices, so none was factored.
  if (info.numel() == 0) return no_errors(x);
  Tensor first = info;
  const std::size_t more = info.shape().size() - leading.size();
  for (std::size_t i = 0; i < info.shape().size(); ++i) {
    if (i < more || leading[i - more] != info.shape()[i]) first = narrow(first, static_cast<std::int64_t>(i), 0, 1);
  }
  return reshape(first, leading);
}

struct Solution {
  Tensor y;
  Tensor info;  ///< undefined if singular matrices throw
};

Solution solve_system(const Tensor& x1, const Tensor& x2, bool left, Singular singular, const char* op) {
  check_square(x1, op);
  check_defined(x2, op);
  check_dtype(x2, Decomposable, op);
  check_same_device(x1, x2, op);
  const DType dtype = promote_types(x1.dtype(), x2.dtype());
  if (x1.dtype() != dtype || x2.dtype() != dtype) {
    return solve_system(cast(x1, dtype), cast(x2, dtype), left, singular, op);
  }
  if (x2.ndim() == 0) fail<ValueError>("[", op, "] x2 needs at least one axis, got shape []");
  if (!left) {
    if (x2.ndim() == 1) fail<ValueError>("[", op, "] left=False requires a matrix x2, got shape ", x2.shape());
    if (x2.size(-1) != x1.size(-1)) {
      fail<ValueError>("[", op, "] x1 and x2 must have the same number of columns (x1: ", x1.shape(),
                       ", x2: ", x2.shape(), ")");
    }
    const Solution found = solve_system(matrix_transpose(x1), matrix_transpose(x2), true, singular, op);
    return {matrix_transpose(found.y), found.info};
  }
  if (x2.size(x2.ndim() == 1 ? 0 : -2) != x1.size(-1)) {
    fail<ValueError>("[", op, "] x1 and x2 must have the same number of rows (x1: ", x1.shape(), ", x2: ", x2.shape(),
                     ")");
  }
  if (x2.ndim() == 1) {
    const Solution found = solve_system(x1, expand_dims(x2, -1), true, singular, op);
    return {squeeze(found.y, -1), found.info};
  }
  if (x1.ndim() == 2 && x2.ndim() > 2 && x2.numel() > 0) {
    // A single factorization serves all columns.
    const Tensor first = swapaxes(x2, 0, -2);
    const Solution found = solve_system(x1, reshape(first, {first.shape()[0], -1}), true, singular, op);
    return {swapaxes(reshape(found.y, first.shape()), 0, -2), found.info};
  }
  const auto [x, b] = with_equal_batches(x1, x2, op);
  if (singular == Singular::Refused) {
    return {SolveLayer::apply(x, b, false, static_cast<const Factors*>(nullptr)), Tensor()};
  }
  const auto [y, failed] = SolveExLayer::apply(x, b);
  return {y, of_given(failed, x1)};
}

}  // namespace

Tensor linalg::solve_triangle(const Tensor& x, const Tensor& b, Triangle triangle) {
  const auto [matrices, right] = with_equal_batches(x, b, "linalg_solve_triangular");
  return TriangularLayer::apply(matrices, right, triangle);
}

Tensor LinalgSolve::call(const Tensor& x1, const Tensor& x2, bool left) {
  return solve_system(x1, x2, left, Singular::Refused, info.name).y;
}

std::vector<Tensor> LinalgSolveEx::call(const Tensor& x1, const Tensor& x2, bool left, bool check_errors) {
  const Singular singular = check_errors ? Singular::Refused : Singular::Allowed;
  const Solution found = solve_system(x1, x2, left, singular, info.name);
  return {found.y, found.info.defined() ? found.info : no_errors(x1)};
}

Tensor LinalgSolveTriangular::call(const Tensor& x1, const Tensor& x2, bool upper, bool left, bool unitriangular) {
  check_square(x1, info.name);
  check_matrices(x2, info.name);
  check_same_device(x1, x2, info.name);
  const DType dtype = promote_types(x1.dtype(), x2.dtype());
  if (x1.dtype() != dtype || x2.dtype() != dtype)
    return call(cast(x1, dtype), cast(x2, dtype), upper, left, unitriangular);
  if (x2.size(left ? -2 : -1) != x1.size(-1)) {
    fail<ValueError>("[linalg_solve_triangular] x1 has ", x1.size(-1), " rows and does not fit x2 (x1: ", x1.shape(),
                     ", x2: ", x2.shape(), ", left=", left ? "True" : "False", ")");
  }
  if (!left) {
    return matrix_transpose(call(matrix_transpose(x1), matrix_transpose(x2), !upper, true, unitriangular));
  }
  return solve_triangle(x1, x2, {.upper = upper, .unit_diagonal = unitriangular});
}

Tensor LinalgInv::call(const Tensor& x) {
  check_square(x, info.name);
  return InverseLayer::apply(x);
}

std::vector<Tensor> LinalgInvEx::call(const Tensor& x, bool check_errors) {
  check_square(x, info.name);
  if (check_errors) return {inv(x), no_errors(x)};
  const auto [y, failed] = InverseExLayer::apply(x);
  return {y, failed};
}

}  // namespace lamella
