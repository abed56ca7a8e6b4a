#include "ops/linalg/least_squares.h"

#include <limits>

#include "engine/autograd/graph/running_pass.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/pseudoinverse.h"
#include "ops/movement/cast.h"
#include "ops/reduce/common_divisor.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using namespace linalg;

LeastSquaresDriver read_driver(std::string_view driver) {
  if (driver == "gelsy") return LeastSquaresDriver::Gelsy;
  if (driver == "gels") return LeastSquaresDriver::Gels;
  if (driver == "gelsd") return LeastSquaresDriver::Gelsd;
  if (driver == "gelss") return LeastSquaresDriver::Gelss;
  fail<ValueError>("[linalg_lstsq] driver: expected 'gels', 'gelsy', 'gelsd' or 'gelss', got '", driver, "'");
}

/// Returns one tolerance per matrix of x.
Tensor bounds(const Tensor& x, const std::optional<Tensor>& rtol) {
  const Dims leading(x.shape().begin(), x.shape().end() - 2);
  if (rtol) {
    check_dtype(*rtol, {DType::Float32, DType::Float64, DType::Int32, DType::Int64}, "linalg_lstsq");
    return broadcast_to(cast(*rtol, DType::Float64), leading);
  }
  const double epsilon = real_dtype(x.dtype()) == DType::Float32 ? std::numeric_limits<float>::epsilon()
                                                                 : std::numeric_limits<double>::epsilon();
  return full(leading, static_cast<double>(std::max(x.size(-1), x.size(-2))) * epsilon, DType::Float64, x.device());
}

/// With the pseudoinverse p of x, y = p b and z = p^H dy: db = z,   dx = -z y^H + (b - x y) (p z)^H + (p^H y) (dy - p x
/// dy)^H.
struct LstsqLayer : OperatorLayer<LstsqLayer> {
  static constexpr std::string_view name = "linalg_lstsq";

  static std::vector<Tensor> forward(Context& ctx, const Tensor& x, const Tensor& b, const std::optional<Tensor>& rtol,
                                     LeastSquaresDriver driver) {
    const LeastSquares found = run_least_squares(x, b, bounds(x, rtol), driver, "linalg_lstsq");
    ctx.mark_non_differentiable(found.rank, found.singular_values);
    save_with<std::optional<Tensor>>(ctx, rtol, x, b, found.solution);
    return {found.solution, found.rank, found.singular_values};
  }
  static std::vector<Tensor> backward(Context& ctx, const TensorList& grads) {
    const auto [given, b, y] = ctx.saved_tensors<3>();
    const auto& edges = ctx.node()->edges();
    std::vector<Tensor> result(edges.size());
    const Tensor& dy = grads[0];
    if (!dy.defined()) return result;
    const Tensor inverse = pinv(given, ctx.state<std::optional<Tensor>>());
    // With x of size 1, and b as many times smaller, no product leaves the range of numbers where the gradient does
    // not.
    const Tensor scale = power_of_two_near(inverse);
    const Tensor x = multiply(given, scale);
    const Tensor p = divide(inverse, scale);
    const Tensor ph = adjoint(p);
    const Tensor z = matmul(ph, dy);
    result[1] = multiply(z, scale);
    if (autograd::is_needed(edges[0])) {
      const Tensor left_over = subtract(multiply(b, scale), matmul(x, y));
      const Tensor outside = subtract(dy, matmul(p, matmul(x, dy)));
      Tensor dx = subtract(matmul(left_over, adjoint(matmul(p, z))), matmul(z, adjoint(y)));
      dx = add(dx, matmul(matmul(ph, y), adjoint(outside)));
      result[0] = multiply(dx, scale);
    }
    return result;
  }
};

}  // namespace

std::vector<Tensor> LinalgLstsq::call(const Tensor& x1, const Tensor& x2, const std::optional<Tensor>& rtol,
                                      std::string_view driver) {
  check_matrices(x1, info.name);
  check_defined(x2, info.name);
  check_dtype(x2, Decomposable, info.name);
  check_same_device(x1, x2, info.name);
  const LeastSquaresDriver chosen = read_driver(driver);
  const DType dtype = promote_types(x1.dtype(), x2.dtype());
  if (x1.dtype() != dtype || x2.dtype() != dtype) return call(cast(x1, dtype), cast(x2, dtype), rtol, driver);
  if (x2.ndim() == 0) fail<ValueError>("[linalg_lstsq] x2 needs at least one axis, got shape []");
  const bool is_vector = x2.ndim() == 1;
  const Tensor right = is_vector ? expand_dims(x2, -1) : x2;
  if (right.size(-2) != x1.size(-2)) {
    fail<ValueError>("[linalg_lstsq] x1 and x2 must have the same number of rows (x1: ", x1.shape(),
                     ", x2: ", x2.shape(), ")");
  }
  const auto [x, b] = with_equal_batches(x1, right, info.name);
  std::vector<Tensor> parts = LstsqLayer::apply(x, b, rtol, chosen);
  const Tensor left_over = subtract(matmul(x, parts[0]), b);
  Tensor residuals = square_sum(is_complex(dtype) ? abs(left_over) : left_over, Dims{-2});
  if (is_vector) {
    parts[0] = squeeze(parts[0], -1);
    residuals = squeeze(residuals, -1);
  }
  return {parts[0], residuals, parts[1], parts[2]};
}

}  // namespace lamella
