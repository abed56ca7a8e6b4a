#include "ops/linalg/ldl.h"

#include <tuple>

#include "engine/autograd/graph/running_pass.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/lapack.h"
#include "ops/shape/broadcast.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using namespace linalg;

constexpr const char* kFactor = "linalg_ldl_factor_ex";
constexpr const char* kSolve = "linalg_ldl_solve";

/// Factors x. If `refused`, a singular block throws, and the third result is 0.
std::tuple<Tensor, Tensor, Tensor> run_ldl(const Tensor& x, bool hermitian, bool refused) {
  if (!is_plain(x)) [[unlikely]]
    return with_plain(kFactor, [&](const Tensor& plain) { return run_ldl(plain, hermitian, refused); }, x);
  const Tensor columns = columns_of(x);
  const Tensor pivots = beside(x, {x.size(-1)}, DType::Int32);
  const Tensor info = beside(x, {}, DType::Int32);
  if (is_computed(x, kFactor)) {
    write_value(info, 0, kFactor);
    if (x.numel() > 0) lapack::ldl(columns, pivots, refused ? Tensor() : info, hermitian, kFactor);
  }
  return {from_columns(columns), pivots, info};
}

Tensor run_ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  if (!is_plain(ld) || !is_plain(pivots) || !is_plain(b)) [[unlikely]] {
    const auto run = [&](const Tensor& factors, const Tensor& exchanges, const Tensor& right) {
      return run_ldl_solve(factors, exchanges, right, hermitian);
    };
    return with_plain(kSolve, run, ld, pivots, b);
  }
  const Tensor columns = columns_of(b);
  if (is_computed(b, kSolve) && b.numel() > 0) {
    lapack::ldl_solve(columns_of(ld), contiguous(pivots), columns, hermitian, kSolve);
  }
  return from_columns(columns);
}

/// db is the solution for dy with the adjoint of x: x itself if Hermitian or real, its conjugate if complex and
/// symmetric.
struct LdlSolveLayer : OperatorLayer<LdlSolveLayer> {
  static constexpr std::string_view name = "linalg_ldl_solve";

  static Tensor forward(Context& ctx, const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
    save_with<bool>(ctx, hermitian, ld, pivots);
    return run_ldl_solve(ld, pivots, b, hermitian);
  }
  static std::array<Tensor, 3> backward(Context& ctx, const Tensor& dy) {
    if (autograd::is_needed(ctx.node()->edges()[0])) {
      fail<RuntimeError>("[linalg_ldl_solve] there is no gradient with respect to ld");
    }
    const auto [ld, pivots] = ctx.saved_tensors<2>();
    const bool hermitian = ctx.state<bool>();
    std::array<Tensor, 3> grads;
    grads[2] = hermitian ? apply(ld, pivots, dy, true) : conjugate(apply(ld, pivots, conjugate(dy), false));
    return grads;
  }
};

}  // namespace

std::vector<Tensor> LinalgLdlFactorEx::call(const Tensor& x, bool hermitian, bool check_errors) {
  check_square(x, info.name);
  const autograd::NoGrad no_grad;
  const auto [ld, pivots, failed] = run_ldl(x, hermitian, check_errors);
  return {ld, pivots, failed};
}

Tensor LinalgLdlSolve::call(const Tensor& given_ld, const Tensor& pivots, const Tensor& given_b, bool hermitian) {
  const auto [ld, b] = checked_equation(given_ld, pivots, given_b, "ld", info.name);
  const std::int64_t n = ld.size(-1);
  if (b.size(-2) != n) {
    fail<ValueError>("[linalg_ldl_solve] ld has ", n, " rows and does not fit b (ld: ", ld.shape(), ", b: ", b.shape(),
                     ")");
  }
  const Dims batch = broadcast_shapes(batch_of(ld), batch_of(b), info.name);
  Dims rows = batch;
  rows.push_back(n);
  return LdlSolveLayer::apply(to_batch(ld, batch), pivots.shape() == rows ? pivots : broadcast_to(pivots, rows),
                              to_batch(b, batch), hermitian);
}

}  // namespace lamella
