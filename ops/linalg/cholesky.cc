#include "ops/linalg/cholesky.h"

#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/extension/extension.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/device_factor.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/solve.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

Tensor run_cholesky_inverse(const Tensor& factor, bool upper, const char* op) {
  if (!is_plain(factor)) [[unlikely]]
    return with_plain(op, [&](const Tensor& plain) { return run_cholesky_inverse(plain, upper, op); }, factor);
  if (factor.numel() > 0 && there::has_kernels(factor)) return there::cholesky_inverse(factor, upper, op);
  Tensor y = clone(factor);
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (!y.device().is_cpu()) no_kernel(op, y.device());
  lapack::cholesky_inverse(y, upper, op);
  return y;
}

/// The inverse y of x = l l^H changes by -y (dl l^H + l dl^H) y. So the gradient of l is the lower triangle of -y (dy +
/// dy^H) y l, and that of u, with x = u^H u, the upper triangle of -u y (dy + dy^H) y.
struct CholeskyInverseLayer : OperatorLayer<CholeskyInverseLayer> {
  static constexpr std::string_view name = "linalg_cholesky_inverse";

  static Tensor forward(Context& ctx, const Tensor& factor, bool upper) {
    Tensor y = run_cholesky_inverse(factor, upper, "linalg_cholesky_inverse");
    save_with<bool>(ctx, upper, factor, y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [factor, y] = ctx.saved_tensors<2>();
    const Tensor dx = negative(matmul(matmul(y, add(dy, adjoint(dy))), y));
    return ctx.state<bool>() ? triu(matmul(triu(factor), dx)) : tril(matmul(dx, tril(factor)));
  }
};

}  // namespace

Tensor LinalgCholeskySolve::call(const Tensor& b, const Tensor& factor, bool upper) {
  check_square(factor, info.name);
  check_matrices(b, info.name);
  check_same_device(b, factor, info.name);
  const DType dtype = promote_types(b.dtype(), factor.dtype());
  if (b.dtype() != dtype || factor.dtype() != dtype) return call(cast(b, dtype), cast(factor, dtype), upper);
  if (b.size(-2) != factor.size(-1)) {
    fail<ValueError>("[linalg_cholesky_solve] factor has ", factor.size(-1), " rows and does not fit b (b: ", b.shape(),
                     ", factor: ", factor.shape(), ")");
  }
  return solve_triangle(factor, solve_triangle(factor, b, {.upper = upper, .adjoint = upper}),
                        {.upper = upper, .adjoint = !upper});
}

Tensor LinalgCholeskyInverse::call(const Tensor& factor, bool upper) {
  check_square(factor, info.name);
  return CholeskyInverseLayer::apply(factor, upper);
}

}  // namespace lamella
