#include "ops/linalg/reflections.h"

#include <algorithm>
#include <utility>

#include "engine/autograd/function.h"
#include "engine/autograd/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/extension/extension.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/solve.h"
#include "ops/reduce/sum.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

using namespace linalg;

std::pair<Tensor, Tensor> run_geqrf(const Tensor& x) {
  const char* const op = LinalgGeqrf::info.name;
  if (is_batched(x)) [[unlikely]] {
    const auto [a, tau] = run_geqrf(physical(x, *x->hidden));
    return {hide_in_place(a, *x->hidden), hide_in_place(tau, *x->hidden)};
  }
  if (is_extension(x.device())) return on_host(op, x.device(), run_geqrf, x);
  const Tensor columns = columns_of(x);
  const Tensor tau = beside(x, {std::min(x.size(-1), x.size(-2))}, x.dtype());
  if (is_computed(x, op) && x.numel() > 0) lapack::geqrf(columns, tau, op);
  return {from_columns(columns), tau};
}

Tensor run_householder(const Tensor& x, const Tensor& tau) {
  const char* const op = LinalgHouseholderProduct::info.name;
  if (is_batched(x) || is_batched(tau)) [[unlikely]] {
    const HiddenAxes axes = hidden_axes(pointers(x, tau));
    const auto whole = [&](const Tensor& t) { return physical(t, axes, 0, MissingAxis::Repeated); };
    return hide_in_place(run_householder(whole(x), whole(tau)), axes);
  }
  if (is_extension(x.device())) return on_host(op, x.device(), run_householder, x, tau);
  const Tensor q_columns = beside(x, {x.size(-1), x.size(-2)}, x.dtype());
  if (is_computed(x, op) && x.numel() > 0) {
    tau.numel() > 0 ? lapack::householder(columns_of(x), contiguous(tau), q_columns, op) : write_unit(q_columns);
  }
  return from_columns(q_columns);
}

/// q is 1 - v w, where (1 + s) w = t v^H, s = t triu(v^H v, 1) and t is the diagonal of tau (Joffrain et al.,
/// Accumulating Householder transformations, revisited, 2006); backward is the chain rule along these.
struct HouseholderLayer : Function<HouseholderLayer> {
  static constexpr bool kChecksGradients = false;
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
    const Tensor v = add(tril(narrow(x, -1, 0, steps), -1), eye(m, steps, 0, x.dtype(), x.device()));
    const Tensor top = narrow(v, -2, 0, n);
    const Tensor t = expand_dims(tau, -1);
    const Tensor products = triu(matmul(adjoint(v), v), 1);
    const Tensor s = multiply(products, t);
    const Tensor w = solve_triangle(s, multiply(adjoint(top), t), {.upper = true, .unit_diagonal = true});
    const Tensor dright =
        solve_triangle(s, negative(matmul(adjoint(v), dq)), {.upper = true, .unit_diagonal = true, .adjoint = true});
    const Tensor ds = triu(negative(matmul(dright, adjoint(w))), 1);
    const Tensor dproducts = multiply(ds, conjugate(t));
    const Tensor dtau =
        add(sum(multiply(dright, matrix_transpose(top)), Dims{-1}), sum(multiply(ds, conjugate(products)), Dims{-1}));
    const Tensor dtop = multiply(adjoint(dright), matrix_transpose(t));
    Tensor dv = subtract(matmul(v, add(dproducts, adjoint(dproducts))), matmul(dq, adjoint(w)));
    dv = tril(add(dv, with_zeros(dtop, -2, m)), -1);
    return {with_zeros(dv, -1, n), dtau};
  }

 private:
  /// x with zeros behind it, so that the axis has so many elements.
  static Tensor with_zeros(const Tensor& x, std::int64_t axis, std::int64_t size) {
    const std::int64_t more = size - x.size(axis);
    if (more == 0) return x;
    Dims shape = x.shape();
    shape[x.ndim() + static_cast<std::size_t>(axis)] = more;
    return concat({x, zeros(shape, x.dtype(), x.device())}, axis);
  }
};

}  // namespace

Tensor LinalgHouseholderProduct::call(const Tensor& x, const Tensor& tau) {
  check_matrices(x, info.name);
  check_defined(tau, info.name);
  check_same_device(x, tau, info.name);
  if (tau.dtype() != x.dtype()) {
    fail<TypeError>("[", info.name, "] x and tau have one dtype, not ", x.dtype(), " and ", tau.dtype());
  }
  if (x.size(-2) < x.size(-1)) {
    fail<ValueError>("[", info.name, "] x holds matrices with as many rows as columns or more, got shape ", x.shape());
  }
  const DimsView batch = batch_of(x);
  if (tau.ndim() + 1 != x.ndim() || !std::ranges::equal(DimsView(tau.shape()).first(tau.ndim() - 1), batch) ||
      tau.size(-1) > x.size(-1)) {
    fail<ValueError>("[", info.name, "] tau has a number for each column of x, or the first ones (x: ", x.shape(),
                     ", tau: ", tau.shape(), ")");
  }
  return HouseholderLayer::apply(x, tau);
}

std::vector<Tensor> LinalgGeqrf::call(const Tensor& x) {
  check_matrices(x, info.name);
  const autograd::NoGrad no_grad;
  const auto [a, tau] = run_geqrf(x);
  return {a, tau};
}

}  // namespace lamella
