#include "ops/linalg/pseudoinverse.h"

#include <limits>
#include <vector>

#include "engine/core/modes.h"
#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/common_divisor.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

/// The bounds below which singular values count as 0.
struct Tolerances {
  std::optional<Tensor> relative;
  std::optional<Tensor> absolute;

  /// Returns the larger of the two bounds, where `s` are magnitudes of singular values of x.
  Tensor bound(const Tensor& s, const Tensor& x, const char* op) const {
    const Tensor largest = max(s, Dims{-1}, true);
    const auto read = [&](const Tensor& given) {
      check_dtype(given, {DType::Float32, DType::Float64, DType::Int32, DType::Int64}, op);
      return expand_dims(cast(given, s.dtype()), -1);
    };
    const Tensor least = absolute ? read(*absolute) : Tensor();
    if (relative) {
      const Tensor bound = multiply(largest, read(*relative));
      return absolute ? maximum(least, bound) : bound;
    }
    const double epsilon =
        s.dtype() == DType::Float32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    const Tensor rounding = multiply(largest, static_cast<double>(std::max(x.size(-1), x.size(-2))) * epsilon);
    return absolute ? where(greater(least, 0), least, rounding) : rounding;
  }

  /// Returns x broadcast to the shapes of the tolerances.
  Tensor broadcast(const Tensor& x, const char* op) const {
    Dims shape(x.shape().begin(), x.shape().end() - 2);
    for (const std::optional<Tensor>& given : {relative, absolute}) {
      if (given) shape = broadcast_shapes(shape, given->shape(), op);
    }
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return x.shape() == shape ? x : broadcast_to(x, shape);
  }
};

/// Hermitian matrices completed from x's lower triangles. The gradient is taken with respect to all of their elements,
/// as for every function of Hermitian matrices.
struct CompletionLayer : OperatorLayer<CompletionLayer> {
  static constexpr std::string_view name = "linalg_pinv";

  static Tensor forward(Context&, const Tensor& x) {
    const Tensor is_lower = tril(ones({x.size(-2), x.size(-1)}, DType::Bool, x.device()));
    return where(is_lower, x, adjoint(x));
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

/// With the pseudoinverse p of x: dx = -p^H dp p^H + (1 - x p) dp^H p p^H + p^H p dp^H (1 - p x).
struct PinvLayer : OperatorLayer<PinvLayer> {
  static constexpr std::string_view name = "linalg_pinv";

  static Tensor forward(Context& ctx, const Tensor& x, const std::optional<Tensor>& rtol,
                        const std::optional<Tensor>& atol, bool hermitian) {
    const Tolerances tolerances{rtol, atol};
    const Tensor p = x.numel() == 0 ? zeros_like(matrix_transpose(x))
                     : hermitian    ? by_eigenvalues(x, tolerances)
                                    : by_singular_values(x, tolerances);
    if (ctx.recording()) ctx.save_for_backward(x, p);
    return p;
  }
  static std::vector<Tensor> backward(Context& ctx, const Tensor& dp) {
    const auto [given, inverse] = ctx.saved_tensors<2>();
    // Products of three factors of p, or of x^-1, may leave the range of numbers where the gradient does not.
    const Tensor scale = power_of_two_near(inverse);
    const Tensor x = multiply(given, scale);
    const Tensor p = divide(inverse, scale);
    const Tensor ph = adjoint(p);
    const Tensor g = adjoint(dp);
    const Tensor left = matmul(matmul(g, p), ph);
    const Tensor right = matmul(ph, matmul(p, g));
    Tensor dx = negative(matmul(matmul(ph, dp), ph));
    dx = add(dx, subtract(left, matmul(x, matmul(p, left))));
    dx = add(dx, subtract(right, matmul(matmul(right, p), x)));
    std::vector<Tensor> grads(ctx.node()->edges().size());
    grads[0] = multiply(multiply(dx, scale), scale);
    return grads;
  }

 private:
  static Tensor inverse(const Tensor& values, const Tensor& x, const Tolerances& tolerances) {
    const Tensor magnitudes = abs(values);
    return where(greater(magnitudes, tolerances.bound(magnitudes, x, "linalg_pinv")), divide(1, values), 0);
  }
  static Tensor by_singular_values(const Tensor& x, const Tolerances& tolerances) {
    const std::vector<Tensor> parts = svd(x, false);
    const Tensor scaled = multiply(expand_dims(inverse(parts[1], x, tolerances), -1), adjoint(parts[0]));
    return matmul(adjoint(parts[2]), scaled);
  }
  static Tensor by_eigenvalues(const Tensor& x, const Tolerances& tolerances) {
    const std::vector<Tensor> parts = eigh(x);
    const Tensor scaled = multiply(expand_dims(inverse(parts[0], x, tolerances), -1), adjoint(parts[1]));
    return matmul(parts[1], scaled);
  }
};

}  // namespace

Tensor LinalgPinv::call(const Tensor& x, const std::optional<Tensor>& rtol, const std::optional<Tensor>& atol,
                        bool hermitian) {
  hermitian ? check_square(x, info.name) : check_matrices(x, info.name);
  const Tensor whole = Tolerances{rtol, atol}.broadcast(x, info.name);
  return PinvLayer::apply(hermitian ? CompletionLayer::apply(whole) : whole, rtol, atol, hermitian);
}

Tensor LinalgMatrixRank::call(const Tensor& x, const std::optional<Tensor>& rtol, const std::optional<Tensor>& atol,
                              bool hermitian) {
  hermitian ? check_square(x, info.name) : check_matrices(x, info.name);
  const autograd::NoGrad no_grad;
  const Tolerances tolerances{rtol, atol};
  const Tensor whole = tolerances.broadcast(x, info.name);
  const Tensor s = hermitian ? abs(eigvalsh(whole)) : svdvals(whole);
  if (s.size(-1) == 0) return zeros(Dims(s.shape().begin(), s.shape().end() - 1), DType::Int64, x.device());
  return Sum::call(greater(s, tolerances.bound(s, whole, info.name)), Dims{-1}, false, DType::Int64);
}

}  // namespace lamella
