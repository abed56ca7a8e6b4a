#include "ops/linalg/determinants.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/device_factor.h"
#include "ops/linalg/factor.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/solve.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

/// Returns the sign (a number of magnitude 1, or 0) and the logarithm of the magnitude of the determinants.
std::pair<Tensor, Tensor> run_slogdet(const Factors& factors) {
  if (!is_plain(factors.lu)) [[unlikely]] {
    const auto run = [](const Tensor& a, const Tensor& pivots) { return run_slogdet({a, pivots}); };
    return with_plain("linalg_slogdet", run, factors.lu, factors.pivots);
  }
  if (there::has_kernels(factors.lu)) return there::slogdet(factors);
  const Tensor& lu = factors.lu;
  const Tensor sign = beside(lu, {}, lu.dtype());
  const Tensor logarithm = beside(lu, {}, real_dtype(lu.dtype()));
  if (!is_computed(lu, "linalg_slogdet")) return {sign, logarithm};
  const std::int64_t n = lu.size(-1);
  visit<Decomposable>(lu.dtype(), "linalg_slogdet", [&]<class T> {
    for (std::int64_t i = 0; i < sign.numel(); ++i) {
      const T* const matrix = n ? lu.data<T>() + i * n * n : nullptr;
      T unit(1);
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const T pivot = matrix[j * n + j];
        const auto magnitude = std::abs(pivot);
        sum += std::log(static_cast<double>(magnitude));
        unit = magnitude == 0 ? T(0) : unit * (pivot / magnitude);
        if (factors.pivots.data<std::int32_t>()[i * n + j] != j + 1) unit = -unit;
      }
      sign.data<T>()[i] = unit;
      using Real = decltype(std::abs(unit));
      logarithm.data<Real>()[i] = static_cast<Real>(sum);
    }
  });
  return {sign, logarithm};
}

/// Returns the determinants.
Tensor run_det(const Factors& factors) {
  if (!is_plain(factors.lu)) [[unlikely]] {
    const auto run = [](const Tensor& a, const Tensor& pivots) { return run_det({a, pivots}); };
    return with_plain("linalg_det", run, factors.lu, factors.pivots);
  }
  if (there::has_kernels(factors.lu)) return there::det(factors);
  const Tensor& lu = factors.lu;
  const Tensor det = beside(lu, {}, lu.dtype());
  if (!is_computed(lu, "linalg_det")) return det;
  const std::int64_t n = lu.size(-1);
  visit<Decomposable>(lu.dtype(), "linalg_det", [&]<class T> {
    for (std::int64_t i = 0; i < det.numel(); ++i) {
      T product(1);
      for (std::int64_t j = 0; j < n; ++j) {
        product *= lu.data<T>()[i * n * n + j * n + j];
        if (factors.pivots.data<std::int32_t>()[i * n + j] != j + 1) product = -product;
      }
      det.data<T>()[i] = product;
    }
  });
  return det;
}

/// Returns numbers as 1 x 1 matrices.
Tensor as_matrices(const Tensor& x) { return expand_dims(expand_dims(x, -1), -1); }

/// Returns the values of a tensor on the CPU, under vmap those of all examples.
Tensor shown(const Tensor& x) {
  const autograd::NoGrad no_grad;
  return to_device(contiguous(is_batched(x) ? physical(x, *x->hidden) : x.detach()), kCPU);
}

/// True if an element is 0; false on meta.
bool has_zero(const Tensor& x) {
  if (x.device().is_meta()) return false;
  const Tensor values = shown(x);
  return visit<Decomposable>(values.dtype(), "linalg_det", [&]<class T> {
    const std::span<const T> elements(values.data<T>(), static_cast<std::size_t>(values.numel()));
    return std::ranges::find(elements, T(0)) != elements.end();
  });
}

/// True if derivatives of det(x) x^-1 keep half of the digits; true on meta.
bool is_well_conditioned(const Tensor& x, const Tensor& inverse) {
  if (x.device().is_meta()) return true;
  const autograd::NoGrad no_grad;
  const auto squares = [](const Tensor& a) { return sum(square(abs(a.detach())), Dims{-2, -1}); };
  const Tensor values = cast(shown(multiply(sqrt(squares(x)), sqrt(squares(inverse)))), DType::Float64);
  const std::span<const double> conditions(values.data<double>(), static_cast<std::size_t>(values.numel()));
  const double most = real_dtype(x.dtype()) == DType::Float32 ? 0x1p12 : 0x1p26;
  return std::ranges::all_of(conditions, [&](double condition) { return condition < most; });
}

/// A matrix x = u s vh, and what the derivatives of its determinant are made of.
struct SingularForm {
  Tensor u, s, vh;
  Tensor unit;  ///< true on the diagonal
  Tensor turn;  ///< det(u) det(vh)

  explicit SingularForm(const Tensor& x) {
    const std::vector<Tensor> parts = svd(x, false);
    u = parts[0], s = parts[1], vh = parts[2];
    unit = eye(x.size(-1), std::nullopt, 0, DType::Bool, x.device());
    turn = as_matrices(multiply(det(u), det(vh)));
  }
  /// Returns the products of all singular values but one.
  [[nodiscard]] Tensor products(const Tensor& values) const {
    return prod(where(unit, 1, expand_dims(values, -2)), -1);
  }
  /// Returns the products of all singular values but two, and 0 on the diagonal: of each pair, the product without the
  /// smaller value is divided by the larger one. Values of 0 are replaced by some that are as good as 0.
  [[nodiscard]] Tensor pair_products() const {
    constexpr double kNothing = 1e-18;
    const Tensor largest = narrow(s, -1, 0, 1);
    const Tensor values = where(equal(s, 0), where(equal(largest, 0), kNothing, multiply(largest, kNothing)), s);
    const Tensor upper = triu(divide(expand_dims(products(values), -2), expand_dims(values, -1)), 1);
    return add(upper, matrix_transpose(upper));
  }
};

/// y = det(x) x^-T, the cofactors, for every x. The derivative is that of polynomials: no division by a singular value.
struct CofactorLayer : OperatorLayer<CofactorLayer> {
  static constexpr std::string_view name = "cofactors";

  static Tensor forward(Context& ctx, const Tensor& x) {
    if (ctx.recording()) ctx.save_for_backward(x);
    const SingularForm form(x);
    const Tensor scaled = multiply(conjugate(form.u), expand_dims(form.products(form.s), -2));
    return multiply(form.turn, matmul(scaled, conjugate(form.vh)));
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    const SingularForm form(x);
    const Tensor pairs = form.pair_products();
    const Tensor inner =
        multiply(conjugate(form.turn), matmul(matmul(matrix_transpose(form.u), dy), matrix_transpose(form.vh)));
    const Tensor along = sum(where(form.unit, inner, 0), -1);
    const Tensor sums = sum(multiply(pairs, expand_dims(along, -2)), -1);
    const Tensor between =
        subtract(where(form.unit, expand_dims(sums, -1), 0), multiply(pairs, matrix_transpose(inner)));
    return matmul(matmul(form.u, between), form.vh);
  }
};

/// dx = dy times the conjugate cofactors: y x^-H if no matrix is singular, or nearly so.
struct DetLayer : OperatorLayer<DetLayer> {
  static constexpr std::string_view name = "linalg_det";

  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = run_det(run_factor(x, Singular::Allowed, "linalg_det"));
    if (ctx.recording()) ctx.save_for_backward(x, y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    if (!has_zero(y)) {
      const Tensor inverse = inv(x);
      if (is_well_conditioned(x, inverse)) return multiply(as_matrices(multiply(dy, conjugate(y))), adjoint(inverse));
    }
    return multiply(as_matrices(dy), conjugate(CofactorLayer::apply(x)));
  }
};

/// dx = (dlog - i im(conj(dsign) sign)) x^-H; the sign of a real matrix is constant.
struct SlogdetLayer : OperatorLayer<SlogdetLayer> {
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

}  // namespace

Tensor LinalgDet::call(const Tensor& x) {
  check_square(x, info.name);
  return DetLayer::apply(x);
}

std::vector<Tensor> LinalgSlogdet::call(const Tensor& x) {
  check_square(x, info.name);
  const auto [sign, logarithm] = SlogdetLayer::apply(x);
  return {sign, logarithm};
}

}  // namespace lamella
