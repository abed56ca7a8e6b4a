#include "ops/linalg/matrix_roots.h"

#include <array>

#include "engine/autograd/graph/running_pass.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/sqrt.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/solve.h"
#include "ops/shape/reshape.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

/// A Hermitian matrix, v diag(w) v^H.
struct Spectrum {
  Tensor w;
  Tensor v;

  Tensor matrix() const { return matmul(multiply(v, expand_dims(w, -2)), adjoint(v)); }
};

/// Returns the y with x y + y x = c, for Hermitian x (Higham, section 6.1): in the basis of x's eigenvectors each
/// number is divided by the sum of two eigenvalues. The map is its own adjoint: dc is the solution for dy, dx = -dc y^H
/// - y^H dc.
struct LyapunovLayer : OperatorLayer<LyapunovLayer> {
  static constexpr std::string_view name = "linalg_matrix_sqrth";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& c, const Spectrum* spectrum) {
    const auto& [w, v] = *spectrum;
    const Tensor sums = add(expand_dims(w, -1), expand_dims(w, -2));
    const Tensor y = matmul(matmul(v, divide(matmul(matmul(adjoint(v), c), v), sums)), adjoint(v));
    save_with<Spectrum>(ctx, *spectrum, x, y);
    return y;
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    std::array<Tensor, 2> grads;
    grads[1] = apply(x, dy, static_cast<const Spectrum*>(&ctx.state<Spectrum>()));
    if (autograd::is_needed(ctx.node()->edges()[0])) {
      const Tensor transposed = adjoint(y);
      grads[0] = negative(add(matmul(grads[1], transposed), matmul(transposed, grads[1])));
    }
    return grads;
  }
};

/// From y y = x follows dy y + y dy = dx.
struct SqrthLayer : OperatorLayer<SqrthLayer> {
  static constexpr std::string_view name = "linalg_matrix_sqrth";

  static Tensor forward(Context& ctx, const Tensor& x) {
    const std::vector<Tensor> parts = eigh(x);
    const Spectrum root{sqrt(maximum(parts[0], 0)), parts[1]};
    const Tensor y = root.matrix();
    save_with<Spectrum>(ctx, root, y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    const Tensor dx = LyapunovLayer::apply(y, dy, static_cast<const Spectrum*>(&ctx.state<Spectrum>()));
    return multiply(add(dx, adjoint(dx)), 0.5);
  }
};

/// A change of x turns u by u r and changes h by the rest of u^H dx, r h + dh, where r is skew: r h + h r is twice the
/// skew part of u^H dx. With m = u^H du - p h, where p is the Hermitian part of dh, dx = u (l + p) + (1 - u u^H) du
/// h^-1,   l h + h l = m - m^H.
struct PolarLayer : OperatorLayer<PolarLayer> {
  static constexpr std::string_view name = "linalg_polar";

  static std::array<Tensor, 2> forward(Context& ctx, const Tensor& x) {
    const std::vector<Tensor> parts = svd(x, false);
    const Tensor u = matmul(parts[0], parts[2]);
    const Spectrum spectrum{parts[1], adjoint(parts[2])};
    const Tensor h = spectrum.matrix();
    save_with<Spectrum>(ctx, spectrum, u, h);
    return {u, h};
  }
  static Tensor backward(Context& ctx, const Tensor& du, const Tensor& dh) {
    const auto [u, h] = ctx.saved_tensors<2>();
    if (!du.defined() && !dh.defined()) return {};
    const Tensor p = dh.defined() ? multiply(add(dh, adjoint(dh)), 0.5) : Tensor();
    Tensor m;
    Tensor inside;
    if (du.defined()) m = inside = matmul(adjoint(u), du);
    if (dh.defined()) m = m.defined() ? subtract(m, matmul(p, h)) : negative(matmul(p, h));
    const auto* const spectrum = static_cast<const Spectrum*>(&ctx.state<Spectrum>());
    const Tensor l = LyapunovLayer::apply(h, subtract(m, adjoint(m)), spectrum);
    Tensor dx = matmul(u, dh.defined() ? add(l, p) : l);
    if (du.defined() && u.size(-2) > u.size(-1)) {
      const Tensor outside = subtract(du, matmul(u, inside));
      dx = add(dx, adjoint(solve(h, adjoint(outside))));
    }
    return dx;
  }
};

}  // namespace

Tensor LinalgMatrixSqrth::call(const Tensor& x) {
  check_square(x, info.name);
  return SqrthLayer::apply(x);
}

std::vector<Tensor> LinalgPolar::call(const Tensor& x) {
  check_matrices(x, info.name);
  if (x.size(-2) < x.size(-1)) {
    fail<ValueError>("[linalg_polar] needs matrices with at least as many rows as columns, got shape ", x.shape());
  }
  const auto [u, h] = PolarLayer::apply(x);
  return {u, h};
}

}  // namespace lamella
