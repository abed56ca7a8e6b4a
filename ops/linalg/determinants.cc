#include "ops/linalg/determinants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <span>
#include <string>

#include "engine/autograd/graph/running_pass.h"
#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/composed_special.h"
#include "ops/elementwise/frexp.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/device_factor.h"
#include "ops/linalg/einsum.h"
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

/// Matrices x = u s vh, and what the derivatives of their determinants are made of: those of det(u^H x v) at a diagonal
/// matrix, times det(u) det(v^H), where u and v are constants. No derivative divides by a difference of singular
/// values.
class SingularForm {
 public:
  explicit SingularForm(const Tensor& x) : dtype_(x.dtype()) {
    const std::vector<Tensor> parts = svd(x, false);
    u_ = parts[0], vh_ = parts[2];
    unit_ = eye(x.size(-1), std::nullopt, 0, DType::Bool, x.device());
    turn_ = as_matrices(multiply(det(u_), det(vh_)));
    const Tensor values = cast(parts[1], DType::Float64);
    is_zero_ = equal(values, 0);
    // Mantissas from sqrt(1/2) to sqrt(2), products of many of which stay near 1.
    const std::vector<Tensor> split = frexp(where(is_zero_, 1, values));
    const Tensor small = less(split[0], std::numbers::sqrt2 / 2);
    mantissas_ = where(small, multiply(split[0], 2), split[0]);
    exponents_ = subtract(split[1], small);
  }

  /// Returns the derivative of the determinant along all of `directions` as a function of one more direction, so of the
  /// first order without one (the cofactors). It sums, over tuples (a, b, ...) of different rows and over permutations
  /// p of them, sign(p) [a, p(a)] D1[b, p(b)] ... times the singular values of all other rows.
  [[nodiscard]] Tensor derivative(std::span<const Tensor> directions) const {
    std::vector<Tensor> factors{others(directions.size() + 1)};
    for (const Tensor& direction : directions) {
      factors.push_back(matmul(matmul(adjoint(u_), direction), adjoint(vh_)));
    }
    std::vector<std::size_t> columns(factors.size());
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    Tensor total;
    do {
      const Tensor term = summed(factors, columns);
      total = total.defined() ? add(total, term) : term;
    } while (std::ranges::next_permutation(columns).found);
    return multiply(turn_, matmul(matmul(conjugate(u_), total), conjugate(vh_)));
  }

 private:
  /// Returns the term of one permutation of rows, with its sign.
  [[nodiscard]] Tensor summed(const std::vector<Tensor>& factors, const std::vector<std::size_t>& columns) const {
    const auto letter = [](std::size_t i) { return static_cast<char>('a' + i); };
    std::string subscripts = "...";
    bool odd = false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      subscripts += letter(i);
      odd ^=
          std::count_if(columns.begin() + i, columns.end(), [&](std::size_t later) { return later < columns[i]; }) % 2;
    }
    for (std::size_t i = 1; i < columns.size(); ++i) {
      (subscripts += ",...") += {letter(i), letter(columns[i])};
    }
    subscripts += "->...a";
    const bool diagonal = columns[0] == 0;
    if (!diagonal) subscripts += letter(columns[0]);
    Tensor term = einsum(subscripts, factors);
    if (diagonal) term = where(unit_, expand_dims(term, -1), 0);
    return odd ? negative(term) : term;
  }
  /// Returns the products of all singular values but those of `rows` different rows, with an axis for each of these,
  /// and 0 where two are the same. Exponents are summed apart, so that neither small values nor many ones under- or
  /// overflow on the way; a value of 0 counts as 1 where it is left out.
  [[nodiscard]] Tensor others(std::size_t rows) const {
    const auto trailing = [](Tensor x, std::size_t axes) {
      while (axes-- > 0) x = expand_dims(x, -1);
      return x;
    };
    const auto along = [&](Tensor x, std::size_t row) {
      for (std::size_t i = 0; i < row; ++i) x = expand_dims(x, -2);
      return trailing(x, rows - 1 - row);
    };
    Tensor mantissa = trailing(prod(mantissas_, -1), rows);
    Tensor exponent = trailing(sum(exponents_, -1), rows);
    Tensor zeros = trailing(sum(is_zero_, -1), rows);
    for (std::size_t row = 0; row < rows; ++row) {
      mantissa = divide(mantissa, along(mantissas_, row));
      exponent = subtract(exponent, along(exponents_, row));
      zeros = subtract(zeros, along(is_zero_, row));
    }
    for (std::size_t row = 1; row < rows; ++row) {
      Tensor same = unit_;
      for (std::size_t before = row; before-- > 0; same = expand_dims(same, -2)) {
        zeros = where(trailing(same, rows - 1 - row), 1, zeros);
      }
    }
    return cast(where(greater(zeros, 0), 0, ldexp(mantissa, exponent)), dtype_);
  }
  DType dtype_;
  Tensor u_, vh_;
  Tensor unit_;  ///< true on the diagonal
  Tensor turn_;  ///< det(u) det(v^H)
  Tensor is_zero_, mantissas_, exponents_;
};

/// The derivative of det at `tensors[0]` along all the others, as a function of one more direction: without others the
/// cofactors det(x) x^-T. Symmetric in the directions, and complex differentiable.
struct DetDerivativeLayer : OperatorLayer<DetDerivativeLayer> {
  static constexpr std::string_view name = "linalg_det";

  static Tensor forward(Context& ctx, const TensorList& tensors) {
    if (ctx.recording()) ctx.save_for_backward(std::span<const Tensor>(tensors));
    return SingularForm(tensors[0]).derivative(std::span<const Tensor>(tensors).subspan(1));
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const TensorList tensors = ctx.saved_tensors();
    TensorList grads(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!autograd::is_needed(ctx.node()->edges()[i])) continue;
      TensorList changed = tensors;
      if (i == 0) {
        changed.push_back(conjugate(dy));
      } else {
        changed[i] = conjugate(dy);
      }
      grads[i] = conjugate(apply(changed));
    }
    return grads;
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
    return multiply(as_matrices(dy), conjugate(DetDerivativeLayer::apply(TensorList{x})));
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
