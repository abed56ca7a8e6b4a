#include "ops/linalg/solve.h"

#include <array>
#include <limits>

#include "engine/autograd/backward.h"
#include "engine/autograd/function.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

using namespace linalg;

/// Numbers as 1 x 1 matrices.
Tensor as_matrices(const Tensor& x) { return expand_dims(expand_dims(x, -1), -1); }

/// x and b with broadcast leading axes.
std::pair<Tensor, Tensor> with_equal_leading_axes(const Tensor& x, const Tensor& b, const char* op) {
  const auto leading = [](const Tensor& t) { return DimsView(t.shape()).first(t.ndim() - 2); };
  const Dims shape = broadcast_shapes(leading(x), leading(b), op);
  const auto broadcast = [&](const Tensor& t) {
    Dims whole = shape;
    whole.push_back(t.size(-2));
    whole.push_back(t.size(-1));
    return t.shape() == whole ? t : broadcast_to(t, whole);
  };
  return {broadcast(x), broadcast(b)};
}

/// y = x^-1 b or x^-H b. db is the solution of the other equation for dy, dx = -db y^H or -y db^H.
struct SolveLayer : Function<SolveLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr std::string_view name = "linalg_solve";

  struct State {
    Factors factors;
    bool adjoint = false;
  };

  /// `known` are the factors of x, or null.
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

/// The same with triangular x.
struct TriangularLayer : Function<TriangularLayer> {
  static constexpr bool kChecksGradients = false;
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
struct InverseLayer : Function<InverseLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr std::string_view name = "linalg_inv";

  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = run_inverse(x, "linalg_inv");
    if (ctx.recording()) ctx.save_for_backward(y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    const Tensor transposed = adjoint(y);
    return negative(matmul(matmul(transposed, dy), transposed));
  }
};

/// Whether some element is 0; on meta none is.
bool has_zero(const Tensor& x) {
  if (x.device().is_meta()) return false;
  const autograd::NoGrad no_grad;
  const Tensor values = to_device(contiguous(is_batched(x) ? physical(x, *x->hidden) : x.detach()), kCPU);
  return visit<Decomposable>(values.dtype(), "linalg_det", [&]<class T> {
    const std::span<const T> elements(values.data<T>(), static_cast<std::size_t>(values.numel()));
    return std::ranges::find(elements, T(0)) != elements.end();
  });
}

/// dx = dy times the conjugate cofactors: y x^-H where no matrix is singular.
struct DetLayer : Function<DetLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr std::string_view name = "linalg_det";

  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = run_det(run_factor(x, Singular::Allowed, "linalg_det"));
    if (ctx.recording()) ctx.save_for_backward(x, y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    if (has_zero(y)) return multiply(as_matrices(dy), conjugate(cofactors(x)));
    return multiply(as_matrices(multiply(dy, conjugate(y))), adjoint(inv(x)));
  }

 private:
  /// det(x) x^-T for every x: with x = u s vh, det(u) det(vh) conj(u) p conj(vh), where p has the products of all
  /// singular values but one.
  static Tensor cofactors(const Tensor& x) {
    const std::vector<Tensor> parts = svd(x, false);
    const Tensor unit = eye(x.size(-1), std::nullopt, 0, DType::Bool, x.device());
    const Tensor products = prod(where(unit, 1, expand_dims(parts[1], -2)), -1);
    const Tensor scaled = multiply(conjugate(parts[0]), expand_dims(products, -2));
    return multiply(as_matrices(multiply(det(parts[0]), det(parts[2]))), matmul(scaled, conjugate(parts[2])));
  }
};

/// dx = (dlog - i im(conj(dsign) sign)) x^-H; the sign of a real matrix is constant.
struct SlogdetLayer : Function<SlogdetLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr std::string_view name = "linalg_slogdet";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x) {
    const auto [sign, logarithm] = run_slogdet(run_factor(x, Singular::Allowed, "linalg_slogdet"));
    if (ctx.recording()) ctx.save_for_backward(x, sign);
    return {sign, logarithm};
  }
  static Tensor backward(Context& ctx, const Tensor& dsign, const Tensor& dlog) {
    const auto [x, sign] = ctx.saved_tensors<2>();
    Tensor factor = dlog;
    if (dsign.defined() && is_complex(x.dtype())) {
      // -i im(z) is half of conj(z) - z.
      const Tensor z = multiply(conjugate(dsign), sign);
      const Tensor turned = multiply(subtract(conjugate(z), z), 0.5);
      factor = factor.defined() ? add(turned, factor) : turned;
    }
    if (!factor.defined()) return {};
    return multiply(as_matrices(factor), adjoint(inv(x)));
  }
};

/// What singular values are compared with: rtol, or its default, times the largest.
Tensor cutoff(const Tensor& s, const Tensor& x, const std::optional<Tensor>& rtol, const char* op) {
  const Tensor largest = max(s, Dims{-1}, true);
  if (!rtol) {
    const double epsilon =
        s.dtype() == DType::Float32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    return multiply(largest, static_cast<double>(std::max(x.size(-1), x.size(-2))) * epsilon);
  }
  check_dtype(*rtol, {DType::Float32, DType::Float64, DType::Int32, DType::Int64}, op);
  return multiply(largest, expand_dims(cast(*rtol, s.dtype()), -1));
}

/// With p the pseudoinverse of x:
///   dx = -p^H dp p^H + (1 - x p) dp^H p p^H + p^H p dp^H (1 - p x).
struct PinvLayer : Function<PinvLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr std::string_view name = "linalg_pinv";

  static Tensor forward(Context& ctx, const Tensor& x, const std::optional<Tensor>& rtol) {
    Tensor p;
    if (x.numel() == 0) {
      p = zeros_like(matrix_transpose(x));
    } else {
      const std::vector<Tensor> parts = svd(x, false);
      const Tensor& s = parts[1];
      const Tensor inverse = where(greater(s, cutoff(s, x, rtol, "linalg_pinv")), divide(1, s), 0);
      p = matmul(adjoint(parts[2]), multiply(expand_dims(inverse, -1), adjoint(parts[0])));
    }
    if (ctx.recording()) ctx.save_for_backward(x, p);
    return p;
  }
  static std::vector<Tensor> backward(Context& ctx, const Tensor& dp) {
    const auto [x, p] = ctx.saved_tensors<2>();
    const Tensor ph = adjoint(p);
    const Tensor g = adjoint(dp);
    const Tensor left = matmul(matmul(g, p), ph);
    const Tensor right = matmul(ph, matmul(p, g));
    Tensor dx = negative(matmul(matmul(ph, dp), ph));
    dx = add(dx, subtract(left, matmul(x, matmul(p, left))));
    dx = add(dx, subtract(right, matmul(matmul(right, p), x)));
    std::vector<Tensor> grads(ctx.node()->edges().size());
    grads[0] = dx;
    return grads;
  }
};

}  // namespace

Tensor linalg::solve_triangle(const Tensor& x, const Tensor& b, Triangle triangle) {
  const auto [matrices, right] = with_equal_leading_axes(x, b, "linalg_solve_triangular");
  return TriangularLayer::apply(matrices, right, triangle);
}

Tensor LinalgSolve::call(const Tensor& x1, const Tensor& x2) {
  check_square(x1, info.name);
  check_defined(x2, info.name);
  check_dtype(x2, Decomposable, info.name);
  check_same_device(x1, x2, info.name);
  const DType dtype = promote_types(x1.dtype(), x2.dtype());
  if (x1.dtype() != dtype || x2.dtype() != dtype) return call(cast(x1, dtype), cast(x2, dtype));
  if (x2.ndim() == 0) fail<ValueError>("[linalg_solve] x2 needs at least one axis, got shape []");
  if (x2.size(x2.ndim() == 1 ? 0 : -2) != x1.size(-1)) {
    fail<ValueError>("[linalg_solve] the rows of x1 and x2 differ in number (x1: ", x1.shape(), ", x2: ", x2.shape(),
                     ")");
  }
  if (x2.ndim() == 1) return squeeze(call(x1, expand_dims(x2, -1)), -1);
  if (x1.ndim() == 2 && x2.ndim() > 2 && x2.numel() > 0) {
    // One factorization for all columns.
    const Tensor first = swapaxes(x2, 0, -2);
    const Tensor flat = reshape(first, {first.shape()[0], -1});
    return swapaxes(reshape(call(x1, flat), first.shape()), 0, -2);
  }
  const auto [x, b] = with_equal_leading_axes(x1, x2, info.name);
  return SolveLayer::apply(x, b, false, static_cast<const Factors*>(nullptr));
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

Tensor LinalgDet::call(const Tensor& x) {
  check_square(x, info.name);
  return DetLayer::apply(x);
}

std::vector<Tensor> LinalgSlogdet::call(const Tensor& x) {
  check_square(x, info.name);
  const auto [sign, logarithm] = SlogdetLayer::apply(x);
  return {sign, logarithm};
}

Tensor LinalgPinv::call(const Tensor& x, const std::optional<Tensor>& rtol) {
  check_matrices(x, info.name);
  return PinvLayer::apply(x, rtol);
}

Tensor LinalgMatrixRank::call(const Tensor& x, const std::optional<Tensor>& rtol) {
  check_matrices(x, info.name);
  const autograd::NoGrad no_grad;
  const Tensor s = svdvals(x);
  if (s.size(-1) == 0) return zeros(Dims(s.shape().begin(), s.shape().end() - 1), DType::Int64, x.device());
  return Sum::call(greater(s, cutoff(s, x, rtol, info.name)), Dims{-1}, false, DType::Int64);
}

}  // namespace lamella
