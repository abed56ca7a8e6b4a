#include "ops/linalg/reflections.h"

#include <algorithm>
#include <utility>

#include "engine/autograd/graph/running_pass.h"
#include "engine/core/modes.h"
#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/device_factor.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/reflection_blocks.h"
#include "ops/linalg/solve.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

std::pair<Tensor, Tensor> run_geqrf(const Tensor& x) {
  const char* const op = LinalgGeqrf::info.name;
  if (!is_plain(x)) [[unlikely]]
    return with_plain(op, run_geqrf, x);
  if (there::has_kernels(x)) return there::reflections(x, op);
  const Tensor columns = columns_of(x);
  const Tensor tau = beside(x, {std::min(x.size(-1), x.size(-2))}, x.dtype());
  if (is_computed(x, op) && x.numel() > 0) lapack::geqrf(columns, tau, op);
  return {from_columns(columns), tau};
}

Tensor run_householder(const Tensor& x, const Tensor& tau) {
  const char* const op = LinalgHouseholderProduct::info.name;
  if (!is_plain(x) || !is_plain(tau)) [[unlikely]]
    return with_plain(op, run_householder, x, tau);
  if (there::has_kernels(x)) {
    const Tensor unit = eye(x.size(-2), x.size(-1), 0, x.dtype(), x.device());
    return there::reflect(x, tau, to_batch(unit, {batch_of(x).begin(), batch_of(x).end()}), false, op);
  }
  if (has_reflections(x)) {
    const Tensor q = beside(x, {x.size(-2), x.size(-1)}, x.dtype());
    if (x.numel() > 0) form_columns(x, tau, q);
    return q;
  }
  const Tensor q_columns = beside(x, {x.size(-1), x.size(-2)}, x.dtype());
  if (is_computed(x, op) && x.numel() > 0) {
    tau.numel() > 0 ? lapack::householder(columns_of(x), contiguous(tau), q_columns, op) : write_unit(q_columns);
  }
  return from_columns(q_columns);
}

Tensor run_ormqr(const Tensor& x, const Tensor& tau, const Tensor& c, bool adjoint) {
  const char* const op = LinalgOrmqr::info.name;
  if (!is_plain(x) || !is_plain(tau) || !is_plain(c)) [[unlikely]] {
    const auto run = [&](const Tensor& vectors, const Tensor& factors, const Tensor& operand) {
      return run_ormqr(vectors, factors, operand, adjoint);
    };
    return with_plain(op, run, x, tau, c);
  }
  if (there::has_kernels(c)) return there::reflect(x, tau, c, adjoint, op);
  const bool reflects = tau.numel() > 0 && c.numel() > 0;
  if (has_reflections(c) || !reflects) {
    const Tensor y = rows_of(c);
    if (is_computed(y, op) && reflects) reflect_columns(x, tau, y, adjoint);
    return y;
  }
  const Tensor columns = columns_of(c);
  if (is_computed(c, op)) lapack::reflect(columns_of(x), contiguous(tau), columns, adjoint, op);
  return from_columns(columns);
}

/// The vectors of reflections, with their ones and zeros, and the products of each with later ones.
struct Vectors {
  Tensor v;
  Tensor products;
};
Vectors vectors_of(const Tensor& x, std::int64_t steps) {
  const Tensor v = add(tril(narrow(x, -1, 0, steps), -1), eye(x.size(-2), steps, 0, x.dtype(), x.device()));
  return {v, triu(matmul(adjoint(v), v), 1)};
}

constexpr Triangle kSystem{.upper = true, .unit_diagonal = true};
constexpr Triangle kAdjointSystem{.upper = true, .unit_diagonal = true, .adjoint = true};

/// Returns x padded with zeros to `size` elements along the axis.
Tensor with_zeros(const Tensor& x, std::int64_t axis, std::int64_t size) {
  const std::int64_t more = size - x.size(axis);
  if (more == 0) return x;
  Dims shape = x.shape();
  shape[x.ndim() + static_cast<std::size_t>(axis)] = more;
  return concat({x, zeros(shape, x.dtype(), x.device())}, axis);
}

/// q is 1 - v w, where (1 + s) w = t v^H, s = t triu(v^H v, 1) and t is the diagonal of tau (Joffrain et al.,
/// Accumulating Householder transformations, revisited, 2006); backward is the chain rule along these equations.
struct HouseholderLayer : OperatorLayer<HouseholderLayer> {
  static constexpr std::string_view name = "linalg_householder_product";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& tau) {
    if (ctx.recording()) ctx.save_for_backward(x, tau);
    return run_householder(x, tau);
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dq) {
    const auto [x, tau] = ctx.saved_tensors<2>();
    const std::int64_t m = x.size(-2);
    const std::int64_t n = x.size(-1);
    const std::int64_t steps = tau.size(-1);
    const auto [v, products] = vectors_of(x, steps);
    const Tensor top = narrow(v, -2, 0, n);
    const Tensor t = expand_dims(tau, -1);
    const Tensor s = multiply(products, t);
    const Tensor w = solve_triangle(s, multiply(adjoint(top), t), kSystem);
    const Tensor dright = solve_triangle(s, negative(matmul(adjoint(v), dq)), kAdjointSystem);
    const Tensor ds = triu(negative(matmul(dright, adjoint(w))), 1);
    const Tensor dproducts = multiply(ds, conjugate(t));
    const Tensor dtau =
        add(sum(multiply(dright, matrix_transpose(top)), Dims{-1}), sum(multiply(ds, conjugate(products)), Dims{-1}));
    const Tensor dtop = multiply(adjoint(dright), matrix_transpose(t));
    Tensor dv = subtract(matmul(v, add(dproducts, adjoint(dproducts))), matmul(dq, adjoint(w)));
    dv = tril(add(dv, with_zeros(dtop, -2, m)), -1);
    return {with_zeros(dv, -1, n), dtau};
  }
};

/// y = c - v w, where s w = t v^H c for q, and w = t^H s^-H v^H c for q^H, with s = 1 + t triu(v^H v, 1) and t the
/// diagonal of tau.
struct OrmqrLayer : OperatorLayer<OrmqrLayer> {
  static constexpr std::string_view name = "linalg_ormqr";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& tau, const Tensor& c, bool of_adjoint) {
    save_with<bool>(ctx, of_adjoint, x, tau, c);
    return run_ormqr(x, tau, c, of_adjoint);
  }
  static std::array<Tensor, 3> backward(Context& ctx, const Tensor& dy) {
    const auto [x, tau, c] = ctx.saved_tensors<3>();
    const bool of_adjoint = ctx.state<bool>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 3> grads;
    if (autograd::is_needed(edges[2])) grads[2] = apply(x, tau, dy, !of_adjoint);
    if (!autograd::is_needed(edges[0]) && !autograd::is_needed(edges[1])) return grads;
    const auto [v, products] = vectors_of(x, tau.size(-1));
    const Tensor t = expand_dims(tau, -1);
    const Tensor s = multiply(products, t);
    const Tensor parts = matmul(adjoint(v), c);
    const Tensor dw = negative(matmul(adjoint(v), dy));
    Tensor w;
    Tensor ds;
    Tensor dparts;
    Tensor dt;
    if (of_adjoint) {
      const Tensor u = solve_triangle(s, parts, kAdjointSystem);
      w = multiply(conjugate(t), u);
      dparts = solve_triangle(s, multiply(t, dw), kSystem);
      ds = matmul(u, adjoint(dparts));
      dt = multiply(conjugate(dw), u);
    } else {
      w = solve_triangle(s, multiply(parts, t), kSystem);
      const Tensor dright = solve_triangle(s, dw, kAdjointSystem);
      dparts = multiply(conjugate(t), dright);
      ds = matmul(dright, adjoint(w));
      dt = multiply(conjugate(parts), dright);
    }
    ds = negative(triu(ds, 1));
    grads[1] = add(sum(dt, Dims{-1}), sum(multiply(ds, conjugate(products)), Dims{-1}));
    const Tensor dproducts = multiply(ds, conjugate(t));
    const Tensor dv = add(matmul(v, add(dproducts, adjoint(dproducts))),
                          subtract(matmul(c, adjoint(dparts)), matmul(dy, adjoint(w))));
    grads[0] = with_zeros(tril(dv, -1), -1, x.size(-1));
    return grads;
  }
};

}  // namespace

Tensor LinalgHouseholderProduct::call(const Tensor& x, const Tensor& tau) {
  check_matrices(x, info.name);
  check_defined(tau, info.name);
  check_same_device(x, tau, info.name);
  if (tau.dtype() != x.dtype()) {
    fail<TypeError>("[", info.name, "] x and tau must have one dtype, got ", x.dtype(), " and ", tau.dtype());
  }
  if (x.size(-2) < x.size(-1)) {
    fail<ValueError>("[", info.name, "] x must hold matrices with at least as many rows as columns, got shape ",
                     x.shape());
  }
  const DimsView batch = batch_of(x);
  if (tau.ndim() + 1 != x.ndim() || !std::ranges::equal(DimsView(tau.shape()).first(tau.ndim() - 1), batch) ||
      tau.size(-1) > x.size(-1)) {
    fail<ValueError>("[", info.name,
                     "] tau must have x's leading axes and at most one number per column (x: ", x.shape(),
                     ", tau: ", tau.shape(), ")");
  }
  return HouseholderLayer::apply(x, tau);
}

Tensor LinalgOrmqr::call(const Tensor& x, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
  check_matrices(x, info.name);
  check_defined(tau, info.name);
  check_defined(other, info.name);
  check_same_device(x, tau, info.name);
  check_same_device(x, other, info.name);
  const DimsView batch = batch_of(x);
  if (tau.ndim() + 1 != x.ndim() || !std::ranges::equal(DimsView(tau.shape()).first(tau.ndim() - 1), batch) ||
      tau.size(-1) > std::min(x.size(-2), x.size(-1))) {
    fail<ValueError>("[", info.name, "] tau must have x's leading axes and at most one number per column and per row (",
                     "x: ", x.shape(), ", tau: ", tau.shape(), ")");
  }
  if (other.ndim() < 2 || other.size(left ? -2 : -1) != x.size(-2)) {
    fail<ValueError>("[", info.name, "] q, which is square with x's number of rows, does not fit other (x: ", x.shape(),
                     ", other: ", other.shape(), ", left=", left ? "True" : "False", ")");
  }
  if (tau.dtype() != x.dtype() || other.dtype() != x.dtype()) {
    fail<TypeError>("[", info.name, "] x, tau and other must have one dtype, got ", x.dtype(), ", ", tau.dtype(),
                    " and ", other.dtype());
  }
  // other q is the adjoint of q^H other^H.
  if (!left) return adjoint(call(x, tau, adjoint(other), true, !transpose));
  const auto [vectors, c] = with_equal_batches(x, other, info.name);
  Dims shape(vectors.shape().begin(), vectors.shape().end() - 2);
  shape.push_back(tau.size(-1));
  const Tensor factors = tau.shape() == shape ? tau : broadcast_to(tau, shape);
  return OrmqrLayer::apply(vectors, factors, c, transpose);
}

std::vector<Tensor> LinalgGeqrf::call(const Tensor& x) {
  check_matrices(x, info.name);
  const autograd::NoGrad no_grad;
  const auto [a, tau] = run_geqrf(x);
  return {a, tau};
}

}  // namespace lamella
