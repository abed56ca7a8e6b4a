#include "ops/linalg/decompositions.h"

#include <array>

#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/diagonal.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/solve.h"
#include "ops/movement/cast.h"
#include "ops/reduce/common_divisor.h"
#include "ops/reduce/extremum.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

Tensor unit_like(const Tensor& square) {
  return eye(square.size(-1), std::nullopt, 0, real_dtype(square.dtype()), square.device());
}
/// Returns x with 0 on the diagonal.
Tensor off_diagonal(const Tensor& x) { return multiply(x, subtract(1, unit_like(x))); }
/// Return the average of x and its adjoint, and their difference.
Tensor hermitian_part(const Tensor& x) { return multiply(add(x, adjoint(x)), 0.5); }
Tensor skew(const Tensor& x) { return subtract(x, adjoint(x)); }
/// Returns v as the diagonals of matrices shaped like `square`.
Tensor as_diagonal(const Tensor& v, const Tensor& square) { return multiply(expand_dims(v, -1), unit_like(square)); }
Tensor plus(const Tensor& sum, const Tensor& x) { return sum.defined() ? add(sum, x) : x; }

/// With the gradient dl of l: dx = l^-H p l^-1, made Hermitian, where p is the lower triangle of l^H dl with half of
/// its diagonal. Giles, section 4.
struct CholeskyLayer : OperatorLayer<CholeskyLayer> {
  static constexpr std::string_view name = "linalg_cholesky";

  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor l = run_cholesky(x, false, "linalg_cholesky").first;
    if (ctx.recording()) ctx.save_for_backward(l);
    return l;
  }
  static Tensor backward(Context& ctx, const Tensor& dl) {
    const auto [l] = ctx.saved_tensors<1>();
    const Tensor product = tril(matmul(adjoint(l), tril(dl)));
    const Tensor p = subtract(product, multiply(multiply(product, unit_like(product)), 0.5));
    const Triangle lower{.adjoint = true};
    const Tensor left = solve_triangle(l, p, lower);
    return hermitian_part(solve_triangle(l, adjoint(left), lower));
  }
};

/// Cholesky factorization of matrices that may not be positive definite, with LAPACK's info.
struct CholeskyExLayer : OperatorLayer<CholeskyExLayer> {
  static constexpr std::string_view name = "linalg_cholesky_ex";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x) {
    auto [l, info] = run_cholesky(x, true, "linalg_cholesky_ex");
    ctx.mark_non_differentiable(info);
    if (ctx.recording()) ctx.save_for_backward(l);
    return {l, info};
  }
  static Tensor backward(Context& ctx, const Tensor& dl, const Tensor&) {
    return dl.defined() ? CholeskyLayer::backward(ctx, dl) : Tensor();
  }
};

/// QR: Walter and Lehmann, section 4.3; Liao et al., section III.
struct QrLayer : OperatorLayer<QrLayer> {
  static constexpr std::string_view name = "linalg_qr";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x, bool complete) {
    auto [q, r] = run_qr(x, complete, "linalg_qr");
    if (ctx.recording()) ctx.save_for_backward(x, q, r);
    return {q, r};
  }
  static Tensor backward(Context& ctx, const Tensor& dq, const Tensor& dr) {
    const auto [x, q, r] = ctx.saved_tensors<3>();
    if (!dq.defined() && !dr.defined()) return {};
    const std::int64_t m = q.size(-2);
    const std::int64_t k = q.size(-1);
    const std::int64_t n = r.size(-1);
    if (k > n) {
      fail<RuntimeError>("[linalg_qr] mode='complete' has no gradient for matrices with more rows than columns (", m,
                         " x ", n, "): use mode='reduced'");
    }
    if (n == k) return of_square(dq, dr, q, r);
    // For wide x, split x = [a, b] and r = [c, q^H b], where a and c are square.
    const Tensor b = narrow(x, -1, k, n - k);
    const Tensor c = narrow(r, -1, 0, k);
    if (!dr.defined()) return concat({of_square(dq, {}, q, c), zeros_like(b)}, -1);
    const Tensor dr_of_b = narrow(dr, -1, k, n - k);
    const Tensor with_b = plus(dq, matmul(b, adjoint(dr_of_b)));
    return concat({of_square(with_b, narrow(dr, -1, 0, k), q, c), matmul(q, dr_of_b)}, -1);
  }

 private:
  /// Returns the gradient for square r: (dq + q s) r^-H, where s is Hermitian with the upper triangle of dr r^H - q^H
  /// dq.
  static Tensor of_square(const Tensor& dq, const Tensor& dr, const Tensor& q, const Tensor& r) {
    Tensor difference;
    if (dr.defined()) difference = matmul(dr, adjoint(r));
    if (dq.defined()) {
      const Tensor part = matmul(adjoint(q), dq);
      difference = difference.defined() ? subtract(difference, part) : negative(part);
    }
    const Tensor upper = triu(difference);
    // Half of the diagonal, because the sum with the adjoint counts it twice.
    const Tensor half = subtract(upper, multiply(multiply(upper, unit_like(upper)), 0.5));
    const Tensor sum = plus(dq, matmul(q, add(half, adjoint(half))));
    return adjoint(solve_triangle(r, adjoint(sum), {.upper = true}));
  }
};

/// With the gradients dw and dv of values w and vectors v: dx = v (diag(dw) + (v^H dv) / e) v^H, made Hermitian, where
/// e[i, j] = w[j] - w[i] off the diagonal, and the quotient is 0 on it. Giles, section 3.1.
struct EighLayer : OperatorLayer<EighLayer> {
  static constexpr std::string_view name = "linalg_eigh";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x) {
    auto [w, v] = run_eigh(x, true, "linalg_eigh");
    if (ctx.recording()) ctx.save_for_backward(w, v);
    return {w, v};
  }
  static Tensor backward(Context& ctx, const Tensor& dw, const Tensor& dv) {
    const auto [w, v] = ctx.saved_tensors<2>();
    if (!dv.defined()) {
      if (!dw.defined()) return {};
      return hermitian_part(matmul(multiply(v, expand_dims(dw, -2)), adjoint(v)));
    }
    const Tensor gaps = add(subtract(expand_dims(w, -2), expand_dims(w, -1)), unit_like(v));
    Tensor inner = divide(off_diagonal(matmul(adjoint(v), dv)), gaps);
    if (dw.defined()) inner = add(inner, as_diagonal(dw, v));
    return hermitian_part(matmul(matmul(v, inner), adjoint(v)));
  }
};

/// With the gradients dw and dv of values w and vectors v: dx = v^-H (diag(dw) + k) v^H, where off the diagonal k =
/// (v^H dv - v^H v diag(re(v^H dv))) / conj(e), e[i, j] = w[j] - w[i]. Giles, section 3.1, for vectors of length 1.
struct EigLayer : OperatorLayer<EigLayer> {
  static constexpr std::string_view name = "linalg_eig";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x) {
    auto [w, v] = run_eig(x, true, "linalg_eig");
    save_with<DType>(ctx, x.dtype(), w, v);
    return {w, v};
  }
  static Tensor backward(Context& ctx, const Tensor& dw, const Tensor& dv) {
    const auto [w, v] = ctx.saved_tensors<2>();
    const Tensor vh = adjoint(v);
    Tensor inner;
    if (dw.defined()) inner = as_diagonal(dw, v);
    if (dv.defined()) {
      const Tensor product = matmul(vh, dv);
      const Tensor lengths = expand_dims(real(diagonal(product)), -2);
      const Tensor gaps = add(subtract(expand_dims(w, -2), expand_dims(w, -1)), unit_like(v));
      const Tensor turned = subtract(product, multiply(matmul(vh, v), lengths));
      inner = plus(inner, divide(off_diagonal(turned), conjugate(gaps)));
    }
    if (!inner.defined()) return {};
    const Tensor dx = solve(vh, matmul(inner, vh));
    return is_complex(ctx.state<DType>()) ? dx : real(dx);
  }
};

/// With du, ds and dvh the gradients: Townsend, equations 2 to 5, written for complex numbers.
///   dx = u (skew(u^H du) / e s + s skew(v^H dv) / e + diag(ds)) v^H
///        + (1 - u u^H) du s^-1 v^H + u s^-1 dvh (1 - v v^H),   e[i, j] = s[j]^2 - s[i]^2
/// and for complex numbers the diagonal of skew(u^H du) / (2 s) within the first bracket.
struct SvdLayer : OperatorLayer<SvdLayer> {
  static constexpr std::string_view name = "linalg_svd";

  static std::array<Tensor, 3> forward(Context& ctx, const Tensor& x, bool full) {
    const Singulars found = run_svd(x, full ? SingularVectors::Full : SingularVectors::Reduced, "linalg_svd");
    if (ctx.recording()) ctx.save_for_backward(found.u, found.s, found.vh);
    return {found.u, found.s, found.vh};
  }
  static Tensor backward(Context& ctx, const Tensor& du, const Tensor& ds, const Tensor& dvh) {
    auto [u, s, vh] = ctx.saved_tensors<3>();
    const std::int64_t k = s.size(-1);
    const std::int64_t m = u.size(-2);
    const std::int64_t n = vh.size(-1);
    if (!du.defined() && !dvh.defined()) {
      if (!ds.defined()) return {};
      if (u.size(-1) != k) u = narrow(u, -1, 0, k);
      if (vh.size(-2) != k) vh = narrow(vh, -2, 0, k);
      return matmul(multiply(u, expand_dims(ds, -2)), vh);
    }
    const Tensor left = of_first(du, -1, k);
    const Tensor right = of_first(dvh, -2, k);
    if (u.size(-1) != k) u = narrow(u, -1, 0, k);
    if (vh.size(-2) != k) vh = narrow(vh, -2, 0, k);
    // With singular values near 1, as their squares may be beyond the range of numbers.
    const Tensor scale = power_of_two_near(expand_dims(s, -2));
    const Tensor row = divide(expand_dims(s, -2), scale);
    const Tensor column = divide(expand_dims(s, -1), scale);
    const Tensor unit = eye(k, std::nullopt, 0, s.dtype(), s.device());
    // (s[j] - s[i]) (s[j] + s[i]) is more accurate than the difference of squares.
    const Tensor gaps = add(multiply(subtract(row, column), add(row, column)), unit);
    Tensor inner;
    if (left.defined()) {
      const Tensor difference = skew(matmul(adjoint(u), left));
      inner = multiply(divide(off_diagonal(difference), gaps), row);
      if (is_complex(u.dtype())) inner = add(inner, divide(multiply(difference, unit), multiply(row, 2)));
    }
    if (right.defined()) {
      const Tensor difference = skew(matmul(vh, adjoint(right)));
      inner = plus(inner, multiply(divide(off_diagonal(difference), gaps), column));
    }
    inner = divide(inner, scale);
    if (ds.defined()) inner = add(inner, multiply(column_of(ds), unit));
    Tensor dx = matmul(matmul(u, inner), vh);
    if (left.defined() && m > k) {
      const Tensor scaled = divide(left, expand_dims(s, -2));
      const Tensor outside = subtract(scaled, matmul(u, matmul(adjoint(u), scaled)));
      dx = add(dx, matmul(outside, vh));
    }
    if (right.defined() && n > k) {
      const Tensor scaled = divide(right, column_of(s));
      const Tensor outside = subtract(scaled, matmul(matmul(scaled, adjoint(vh)), vh));
      dx = add(dx, matmul(u, outside));
    }
    return dx;
  }

 private:
  static Tensor column_of(const Tensor& v) { return expand_dims(v, -1); }

  /// Returns the gradient of the first k singular vectors. The others are any that complete the space, and have none:
  /// throws RuntimeError unless theirs is 0, as it is where only singular values are used.
  static Tensor of_first(const Tensor& gradient, std::int64_t axis, std::int64_t k) {
    if (!gradient.defined() || gradient.size(axis) == k) return gradient;
    const Tensor others = narrow(gradient.detach(), axis, k, gradient.size(axis) - k);
    if (is_batched(others) || (!others.device().is_meta() && any_nonzero(others))) {
      fail<RuntimeError>(
          "[linalg_svd] the singular vectors of matrices that are not square have a gradient with "
          "full_matrices=False only");
    }
    return narrow(gradient, axis, 0, k);
  }
  static bool any_nonzero(const Tensor& x) { return *to_device(any(not_equal(x, 0)), kCPU).data<bool>(); }
};

/// Computes without vectors and without recording; used if x requires no gradient.
template <class F>
Tensor unrecorded(const char* op, const Tensor& x, F&& compute) {
  const autograd::NoGrad no_grad;
  const Tensor y = compute();
  const Tensor* const inputs[] = {&x};
  note_unrecorded(op, inputs, y);
  return y;
}

/// Returns matrices whose lower triangles are the given ones: for 'U' the adjoint, whose lower triangle is the
/// conjugate upper one.
Tensor with_lower_triangle(const Tensor& x, std::string_view uplo, const char* op) {
  if (uplo == "L" || uplo == "l") return x;
  if (uplo == "U" || uplo == "u") return adjoint(x);
  fail<ValueError>("[", op, "] UPLO: expected 'L' or 'U', got '", uplo, "'");
}

}  // namespace

Tensor LinalgCholesky::call(const Tensor& x, bool upper) {
  check_square(x, info.name);
  return upper ? adjoint(CholeskyLayer::apply(adjoint(x))) : CholeskyLayer::apply(x);
}

std::vector<Tensor> LinalgCholeskyEx::call(const Tensor& x, bool upper, bool check_errors) {
  check_square(x, info.name);
  if (check_errors) {
    const Dims leading(x.shape().begin(), x.shape().end() - 2);
    return {cholesky(x, upper), zeros(leading, DType::Int32, x.device())};
  }
  const auto [lower, failed] = CholeskyExLayer::apply(upper ? adjoint(x) : x);
  return {upper ? adjoint(lower) : lower, failed};
}

std::vector<Tensor> LinalgQr::call(const Tensor& x, std::string_view mode) {
  check_matrices(x, info.name);
  if (mode != "reduced" && mode != "complete") {
    fail<ValueError>("[linalg_qr] mode: expected 'reduced' or 'complete', got '", mode, "'");
  }
  const auto [q, r] = QrLayer::apply(x, mode == "complete");
  return {q, r};
}

std::vector<Tensor> LinalgEigh::call(const Tensor& x, std::string_view uplo) {
  check_square(x, info.name);
  const auto [w, v] = EighLayer::apply(with_lower_triangle(x, uplo, info.name));
  return {w, v};
}

Tensor LinalgEigvalsh::call(const Tensor& given, std::string_view uplo) {
  check_square(given, info.name);
  const Tensor x = with_lower_triangle(given, uplo, info.name);
  if (is_followed(x)) return EighLayer::apply(x)[0];
  return unrecorded(info.name, x, [&] { return run_eigh(x, false, info.name).first; });
}

std::vector<Tensor> LinalgEig::call(const Tensor& x) {
  check_square(x, info.name);
  const auto [w, v] = EigLayer::apply(x);
  return {w, v};
}

Tensor LinalgEigvals::call(const Tensor& x) {
  check_square(x, info.name);
  if (is_followed(x)) return EigLayer::apply(x)[0];
  return unrecorded(info.name, x, [&] { return run_eig(x, false, info.name).first; });
}

std::vector<Tensor> LinalgSvd::call(const Tensor& x, bool full_matrices) {
  check_matrices(x, info.name);
  const auto [u, s, vh] = SvdLayer::apply(x, full_matrices);
  return {u, s, vh};
}

Tensor LinalgSvdvals::call(const Tensor& x) {
  check_matrices(x, info.name);
  if (is_followed(x)) return SvdLayer::apply(x, false)[1];
  return unrecorded(info.name, x, [&] { return run_svd(x, SingularVectors::None, info.name).s; });
}

}  // namespace lamella
